"""Maps the interpreter's own binary a second time, as libffi's closures do, so that _PyRuntime seems to exist twice."""
import mmap
import os
import re
import pact


def python_binaries():
    with open("/proc/self/maps") as maps:
        paths = {line.split(None, 5)[5].strip() for line in maps if len(line.split(None, 5)) == 6}
    return [path for path in paths if re.search(r"/(lib)?python3[^/]*$", path) and os.path.exists(path)]


def wait():
    pact.say("ready")
    pact.hear()  # line: wait


held = []
for path in python_binaries():
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        for protection in (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ | mmap.PROT_EXEC):
            held.append(mmap.mmap(file.fileno(), size, flags=mmap.MAP_PRIVATE, prot=protection))
assert held
wait()  # line: main
print("ended well")

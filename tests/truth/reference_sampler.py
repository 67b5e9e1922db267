"""The reference sampler, compiled on demand: tests/truth/reference/*.c, and for each interpreter the offsets of its
headers.

It shares no code with ptrace-prof: addresses come from `readelf`, offsets from the interpreter's own headers.
"""
import collections
import functools
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile

from support.stacks import Frame

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "reference"
BUILT = pathlib.Path(os.environ.get("PP_TRUTH_FOLDER", HERE.parents[1] / "build/truth")) / "reference"


class Absent(Exception):
    """Why there can be no reference for this interpreter."""


def _compiled(name, sources, *options):
    """The executable built from these sources, cached under a hash of its inputs."""
    text = b"".join(path.read_bytes() for path in sorted(SOURCES.iterdir())) + repr(options).encode()
    path = BUILT / f"{name}-{hashlib.sha256(text).hexdigest()[:16]}"
    if not path.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        done = subprocess.run(["cc", "-O2", "-std=gnu11", *options, *map(str, sources), "-o", str(part)], capture_output=True,
                              text=True)
        if done.returncode != 0:
            raise Absent(f"cc: {done.stderr.strip().splitlines()[0] if done.stderr else done.returncode}")
        os.replace(part, path)
    return path


@functools.lru_cache(None)
def sampler():
    return _compiled("sampler", [path for path in sorted(SOURCES.glob("*.c")) if path.name != "offsets.c"])


def _include_folders(interpreter, scratch):
    """The folders for -I. A root's pyconfig.h includes one whose name depends on the machine."""
    name = f"python{interpreter.minor}"
    bases = [pathlib.Path(interpreter.root + interpreter.path).resolve().parent.parent] if not interpreter.in_root else []
    bases += [pathlib.Path(interpreter.root or "/", "usr")]
    for base in bases:
        folder = base / "include" / name
        if (folder / "internal/pycore_pystate.h").exists():
            for machine in (base / "include").glob(f"*-linux-gnu/{name}"):
                (pathlib.Path(scratch) / machine.parent.name).mkdir()
                (pathlib.Path(scratch) / machine.parent.name / name).symlink_to(machine)
            return [folder, folder / "internal", scratch]
    raise Absent(f"{interpreter}: its internal headers are not there")


@functools.lru_cache(None)
def layout(interpreter):
    """The file of offsets for one interpreter."""
    path = BUILT / re.sub(r"\W+", "_", f"{interpreter.version}{interpreter.root}{interpreter.path}")
    with tempfile.TemporaryDirectory() as scratch:
        folders = [f"-I{folder}" for folder in _include_folders(interpreter, scratch)]
        options = ["-w", "-DPy_BUILD_CORE", *(["-DPy_GIL_DISABLED=1"] if interpreter.is_free_threaded else []), *folders]
        probe = pathlib.Path(scratch) / "offsets"
        done = subprocess.run(["cc", *options, str(SOURCES / "offsets.c"), "-o", str(probe)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Absent(f"{interpreter}: {done.stderr.strip().splitlines()[0]}")
        BUILT.mkdir(parents=True, exist_ok=True)
        path.write_text(subprocess.run([str(probe)], capture_output=True, text=True, check=True).stdout)
    return path


@functools.lru_cache(None)
def _symbols(file, _identity):
    """{name: address in the file} and the first loaded address of an ELF file."""
    table = subprocess.run(["readelf", "-W", "--dyn-syms", "-l", file], capture_output=True, text=True, check=True).stdout
    found = {}
    for name in ("_PyRuntime", "PyCode_Type"):
        match = re.search(rf"^\s*\d+:\s+([0-9a-f]+)\s.*\s{name}(@.*)?$", table, re.M)
        if match and int(match.group(1), 16):  # else it belongs to another file
            found[name] = int(match.group(1), 16)
    first = re.search(r"^\s*LOAD\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)", table, re.M)
    return found, int(first.group(2), 16) - int(first.group(1), 16)


def _symbols_of(*paths):
    """The addresses in the file at the first of these paths that is an ELF file."""
    for path in paths:
        try:
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    status = os.fstat(file.fileno())
                    return _symbols(path, (status.st_dev, status.st_ino))
        except OSError:
            continue
    return {}, 0


def _range(text):
    """A range as in map_files: without leading zeros."""
    return "-".join(f"{int(part, 16):x}" for part in text.split("-"))


def addresses(pid):
    """(address of _PyRuntime, address of PyCode_Type) in a running process."""
    seen = set()
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split(None, 5)
        if len(words) < 6 or words[5] in seen or int(words[2], 16) != 0 or "python" not in words[5]:
            continue
        seen.add(words[5])
        found, first = _symbols_of(f"/proc/{pid}/map_files/{_range(words[0])}", words[5], f"/proc/{pid}/root{words[5]}")
        if len(found) == 2:
            bias = int(words[0].split("-")[0], 16) - first
            return found["_PyRuntime"] + bias, found["PyCode_Type"] + bias
    raise Absent(f"no _PyRuntime in process {pid}")


class Result:
    """The result of one run. `stacks` counts tuples of Frame, outermost first; `account` and `pauses` are as printed.
    """

    def __init__(self, text):
        self.stacks, self.account, self.pauses, self.cpu_us = collections.Counter(), {}, {}, 0
        functions = {}
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "function":
                number, first, name, file = re.match(r"(\d+) (-?\d+)\t(.*)\t(.*)\Z", rest).groups()
                functions[int(number)] = Frame(name, file, int(first))
            elif kind == "stack":
                times, _, *path = map(int, rest.split())
                self.stacks[tuple(path)] += times
            elif kind in ("account", "pauses"):
                words = rest.split()
                setattr(self, kind, dict(zip(words[::2], map(int, words[1::2]))))
            elif kind == "cpu_us":
                self.cpu_us = int(rest)
        self.stacks = _named(self.stacks, functions)


def _named(stacks, functions):
    named = collections.Counter()
    for path, times in stacks.items():
        named[tuple(functions[number] for number in path)] += times
    return named


class Running:
    def __init__(self, pid, interpreter, seconds, interval_us, seed, cpu=None):
        runtime, code_type = addresses(pid)
        command = [str(sampler()), str(pid), hex(runtime), hex(code_type), str(layout(interpreter)), str(seconds),
                   str(interval_us), str(seed)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                         preexec_fn=None if cpu is None else lambda: os.sched_setaffinity(0, {cpu}))

    def result(self):
        output, errors = self._process.communicate(timeout=600)
        if self._process.returncode != 0:
            raise AssertionError(f"the reference ended with {self._process.returncode}: {errors}")
        return Result(output)

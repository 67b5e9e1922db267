"""Works on two threads, and scribbles on the memory that it shares with the tracer of its calls, while there is any.

Arguments: seed; "records": on the events only, "all": on the rest too, which may crash this process.
"""
import ctypes
import os
import random
import re
import struct
import sys
import threading
import pact

PAGE = 4096
RING_COUNT = 12  # in pp_channel
SHARED = re.compile(r"(\w+)-(\w+) rw-s .*ptrace-prof-ring")


def add(number):
    return number + 1


def work():
    number = 0
    while True:
        number = add(number)


def shared():
    """(address, size); None: not traced."""
    with open("/proc/self/maps") as maps:
        for found in map(SHARED.match, maps):
            if found:
                begin, end = (int(part, 16) for part in found.groups())
                return begin, end - begin
    return None


def must_not_shrink():
    for entry in os.listdir("/proc/self/fd"):
        try:
            if "ptrace-prof-ring" in os.readlink(f"/proc/self/fd/{entry}"):
                os.ftruncate(int(entry), 0)
                os._exit(99)  # the collector would fault
        except OSError:
            pass


def evil(chooser, near):
    kind = chooser.randrange(8)
    return (0, 1, (1 << 64) - 1, near, chooser.randrange(16), 0x7fffffffe000, chooser.getrandbits(64),
            1 << chooser.randrange(64))[kind]


def scribble(chooser, begin, size, is_all):
    heads = PAGE * (1 + min(1024, struct.unpack("<I", ctypes.string_at(begin + RING_COUNT, 4))[0]))
    for _ in range(500):
        if is_all and chooser.random() < 0.5:
            page = chooser.randrange(0, min(heads, size), PAGE)
            place = page + chooser.randrange(0, 384, 8)
        else:
            place = chooser.randrange(min(heads, size - 8), size - 7, 8)
        ctypes.memmove(begin + place, struct.pack("<Q", evil(chooser, begin + place)), 8)


def main():
    chooser = random.Random(int(sys.argv[1]))
    threading.Thread(target=work, daemon=True).start()
    pact.say("ready")
    while True:
        found = shared()
        if found:
            must_not_shrink()
            scribble(chooser, *found, sys.argv[2] == "all")
        add(1)


main()

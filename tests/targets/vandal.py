"""A real interpreter with a thread that scribbles on the frames, thread state and code of another, which sleeps for ever.

The sleeping thread never runs again, so the process survives; outside readers see the garbage. Argument: seed.
"""
import ctypes
import gc
import os
import random
import struct
import sys
import threading
import pact

MINOR = sys.version_info[1]
STATE_FRAME = {8: 24, 9: 24, 10: 24, 11: 56, 12: 56}.get(MINOR, 72)  # where a thread state keeps its frame
release = threading.Lock()
release.acquire()
told = {}


def inner(depth):
    if depth:
        return inner(depth - 1)
    api = ctypes.pythonapi.PyThreadState_Get
    api.restype = ctypes.c_void_p
    told["state"] = api()
    told["ready"].release()
    release.acquire()


def victim():
    inner(20)


def frames_of(thread):
    """(address, size) of each frame: from 3.11 on, of each _PyInterpreterFrame."""
    frame = sys._current_frames()[thread.ident]
    held = []
    while frame is not None:
        held.append(frame)  # never freed: the interpreter must not touch any of this
        frame = frame.f_back
    if MINOR < 11:
        return held, [(id(frame) + 16, 344) for frame in held]
    return held, [(ctypes.c_uint64.from_address(id(frame) + 24).value, 80) for frame in held]


def evil(chooser, near):
    kind = chooser.randrange(8)
    return (0, 1, (1 << 64) - 1, near, near + chooser.randrange(4096), 0x7fffffffe000, chooser.getrandbits(64),
            1 << chooser.randrange(64))[kind]


def main():
    gc.disable()
    told["ready"] = threading.Lock()
    told["ready"].acquire()
    thread = threading.Thread(target=victim, name="victim", daemon=True)
    thread.start()
    told["ready"].acquire()
    held, spans = frames_of(thread)
    code = id(inner.__code__)
    spans.append((told["state"] + STATE_FRAME, 8))
    spans += [(code + 104, 40)]  # names and line table: only the victim runs this code
    healthy = [(address, ctypes.string_at(address, size)) for address, size in spans]
    chooser = random.Random(int(sys.argv[1]))
    pact.say("ready")
    while True:
        for _ in range(200):
            address, size = chooser.choice(spans)
            offset = chooser.randrange(0, size - 7, 8)
            ctypes.memmove(address + offset, struct.pack("<Q", evil(chooser, address)), 8)
        if chooser.random() < 0.5:
            for address, content in healthy:
                ctypes.memmove(address, content, len(content))


main()

"""execs.py STAMP FILE COUNT: executes itself again, COUNT times, from a thread that is not the main one, while others
work and wait; STAMP (tests/programs/exec_stamp.c) notes in FILE how long each exec took."""
import os
import sys
import threading
import time

STAMP, FILE, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3])


def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def wait():
    while True:
        time.sleep(0.0005)


def become_another():
    work((os.getpid() * 7919 + COUNT * 104729) % 8000 / 1e6)
    again = [sys.executable, "-S", "-E", sys.argv[0], STAMP, FILE, str(COUNT - 1)]
    os.execv(STAMP, [STAMP, FILE, str(time.clock_gettime_ns(time.CLOCK_MONOTONIC)), *again])


if COUNT == 0:
    sys.exit(0)
for _ in range(3):
    threading.Thread(target=wait, daemon=True).start()
threading.Thread(target=become_another).start()
work(10)
sys.exit(5)  # the exec took too long

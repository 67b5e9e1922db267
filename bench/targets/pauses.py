"""Notes when it was stopped: one thread at a chosen depth of frames, which calls a function and reads the clock all the
time.

pauses.py DEPTH. PP_COUNTER_FD: as for calls.py. From byte 4096 on: the number of gaps between two readings that are too
long for its own work, then the length of each in ns, in a ring of 65,536.
"""
import mmap
import os
import struct
import sys
import time

FRAMES_AROUND = 4  # <module>, main, work, leaf
GAP_NS = 8_000     # a turn takes a tenth of a microsecond; such a long one was interrupted by other work
RING = 65_536
counters = mmap.mmap(int(os.environ["PP_COUNTER_FD"]), 4096 + 8 * (1 + RING))
clock = time.perf_counter_ns


def leaf(before, gaps):
    now = clock()
    if now - before > GAP_NS:
        struct.pack_into("Q", counters, 4104 + 8 * (gaps % RING), now - before)
        struct.pack_into("Q", counters, 4096, gaps + 1)
        return clock(), gaps + 1
    return now, gaps


def work():
    done, gaps, now = 0, 0, clock()
    while True:
        for _ in range(500):
            now, gaps = leaf(now, gaps)
        done += 1
        struct.pack_into("QQ", counters, 0, done, time.thread_time_ns())
        now = clock()


def descend(levels):
    if levels > 1:
        descend(levels - 1)
    work()


def main():
    descend(int(sys.argv[1]) - FRAMES_AROUND)


os.write(int(os.environ["PP_READY_FD"]), b"r")
main()

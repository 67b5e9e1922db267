"""The worst case with many calls: a call every 50 to 100 ns at the leaf of stacks of a chosen depth.

calls.py DEPTH BUSY WAITING [steady]: BUSY threads of DEPTH frames each work (the main thread is one of them) and
WAITING threads wait in Event.wait(). With "steady" the work makes no calls, so that stacks do not change. PP_COUNTER_FD
is memory shared with the harness: for each busy thread the completed units of work and their CPU time, in ns. The
comments "# -> callee" declare which calls each line makes (tests/support/grammar.py). The number of frames of descend()
is fixed; the harness checks it too.
"""
import mmap
import os
import struct
import sys
import threading
import time

DEPTH, BUSY, WAITING = (int(word) for word in sys.argv[1:4])
STEADY = "steady" in sys.argv
FRAMES_AROUND = 5  # of the main thread: <module>, main, work, fa, leaf
counters = mmap.mmap(int(os.environ["PP_COUNTER_FD"]), 4096)


def leaf(x):
    return x + 1


def fa(x):
    return leaf(x)  # -> leaf


def fb(x):
    return x - 1


def other_leaf(x):
    return x ^ 5


def inner(x):
    return other_leaf(x)  # -> other_leaf


def fc(x):
    return inner(x)  # -> inner


def work(slot):
    done = 0
    x = 0
    while True:
        for _ in range(200):
            x = fa(x)  # -> fa
            x = fb(x)  # -> fb
            x = fc(x)  # -> fc
        done += 1
        struct.pack_into("QQ", counters, 16 * slot, done, time.thread_time_ns())


def work_alone(slot):
    done = 0
    x = 0
    while True:
        for _ in range(1000):
            x += 1
        done += 1
        struct.pack_into("QQ", counters, 16 * slot, done, time.thread_time_ns())


def descend(levels, slot):
    if levels > 1:
        descend(levels - 1, slot)  # -> descend
    if STEADY:
        work_alone(slot)  # -> work_alone
    work(slot)  # -> work


def main(slot):
    descend(DEPTH - FRAMES_AROUND, slot)  # -> descend


def wait_for_ever(event):
    event.wait()  # -> *


def start():
    event = threading.Event()  # -> *
    for _ in range(WAITING):
        threading.Thread(target=wait_for_ever, args=(event,), daemon=True).start()  # -> *
    for slot in range(1, BUSY):
        threading.Thread(target=main, args=(slot,), daemon=True).start()  # -> *
    os.write(int(os.environ["PP_READY_FD"]), b"r")


start()  # -> start # root
main(0)  # -> main # root

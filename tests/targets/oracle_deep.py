"""Up and down recursions of 300 frames by two functions that never call each other."""
import signal
import sys
import pact


def down_a(depth):
    if depth:
        return down_a(depth - 1)  # -> down_a
    return end_a()  # -> end_a


def down_b(depth, other=0):
    if depth:
        return down_b(depth - 1)  # -> down_b
    return end_b()  # -> end_b


def end_a():
    return 1


def end_b():
    return 2


def alternate():
    pact.say("ready")  # -> *
    while True:
        down_a(300)  # -> down_a
        down_b(290)  # -> down_b


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
sys.setrecursionlimit(2000)
alternate()  # -> alternate  # root

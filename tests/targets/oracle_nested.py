"""A tree of calls whose branches have different depths, so that frames of one lie where frames of another just were."""
import signal
import sys
import pact


def tip():
    return 0


def low_left():
    return tip()  # -> tip


def low_right():
    tip()  # -> tip
    return tip()  # -> tip


def left():
    return low_left() + 1  # -> low_left


def right(depth):
    if depth:
        return right(depth - 1)  # -> right
    return low_right()  # -> low_right


def branch_once():
    left()  # -> left
    right(0)  # -> right


def branch_deep():
    right(3)  # -> right
    left()  # -> left
    right(1)  # -> right


def alternate():
    pact.say("ready")  # -> *
    while True:
        branch_once()  # -> branch_once
        branch_deep()  # -> branch_deep
        left()  # -> left


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
alternate()  # -> alternate  # root

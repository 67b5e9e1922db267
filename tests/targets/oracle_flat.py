"""Two chains of three frames each, taken in turns: `a` functions never call `b` functions. See support/grammar.py."""
import signal
import sys
import pact


def leaf_a():
    return 1


def leaf_b():
    return 2


def middle_a():
    return leaf_a()  # -> leaf_a


def middle_b():
    return leaf_b()  # -> leaf_b


def chain_a():
    middle_a()  # -> middle_a


def chain_b():
    middle_b()  # -> middle_b


def alternate():
    pact.say("ready")  # -> *
    while True:
        chain_a()  # -> chain_a
        chain_b()  # -> chain_b


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
alternate()  # -> alternate  # root

"""Spins in two functions in turns, about a millisecond in each. Answers "clock" with "clock" and the count of turns."""
import select
import signal
import sys
import time
import pact

TURN = 1_000_000  # ns


def spin(until):
    while time.perf_counter_ns() < until:
        pass


def even(until):
    spin(until)  # -> spin


def odd(until):
    spin(until)  # -> spin


def alternate():
    poll = select.poll()
    if pact.descriptor() >= 0:
        poll.register(pact.descriptor(), select.POLLIN)
    turns = 0
    pact.say("ready")  # -> *
    while True:
        even(time.perf_counter_ns() + TURN)  # -> even
        odd(time.perf_counter_ns() + TURN)  # -> odd
        turns += 2
        if poll.poll(0):
            if pact.hear() != "clock":  # -> *
                break
            pact.say("clock", turns)  # -> *


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
alternate()  # -> alternate  # root

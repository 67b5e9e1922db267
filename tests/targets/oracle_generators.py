"""Generators resumed from changing callers: their frames live in objects and move between stacks."""
import signal
import sys
import pact


def produce_a():
    while True:
        yield made_a()  # -> made_a


def produce_b():
    yield made_b()  # -> made_b
    yield from inner_b()  # -> inner_b


def inner_b():
    yield made_b()  # -> made_b
    yield 3


def made_a():
    return 1


def made_b():
    return 2


def take_a(endless):
    return next(endless)  # -> produce_a


def take_also_a(endless):
    next(endless)  # -> produce_a
    return next(endless)  # -> produce_a


def take_b():
    for number in produce_b():  # -> produce_b
        used(number)  # -> used


def used(number):
    return number


def alternate():
    endless = produce_a()
    pact.say("ready")  # -> *
    while True:
        take_a(endless)  # -> take_a
        take_b()  # -> take_b
        take_also_a(endless)  # -> take_also_a


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
alternate()  # -> alternate  # root

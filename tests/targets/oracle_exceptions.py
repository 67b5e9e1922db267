"""Stacks unwound by exceptions, with handlers at different heights."""
import signal
import sys
import pact


class Odd(Exception):
    pass


def thrower():
    raise Odd


def through():
    thrower()  # -> thrower


def catches():
    try:
        through()  # -> through
    except Odd:
        handled()  # -> handled


def catches_deep():
    try:
        passes_on()  # -> passes_on
    except Odd:
        handled_deep()  # -> handled_deep


def passes_on():
    try:
        through()  # -> through
    finally:
        cleaned()  # -> cleaned


def handled():
    return 1


def handled_deep():
    return 2


def cleaned():
    return 3


def alternate():
    pact.say("ready")  # -> *
    while True:
        catches()  # -> catches
        catches_deep()  # -> catches_deep


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
alternate()  # -> alternate  # root

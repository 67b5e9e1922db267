"""Waits in a generator driven through `yield from`, map and a comprehension: frames that live inside objects."""
import pact


def leaf():
    yield 1
    pact.say("ready")
    pact.hear()  # line: wait
    yield 2


def middle():
    yield from leaf()  # line: middle


def outer():
    for value in map(abs, middle()):  # line: outer
        yield value


def consume():
    return [value for value in outer()]  # line: consume


consume()  # line: main

"""Calls whose names are easily confused. At a word, it does what the word names and says "ran".

Calls goes_round in between, so that a trace has begun when it shows `goes_round`.
"""
import functools
import select

import pact

CODES = 2000


def make(number):
    """Code nested in nested code: fn_N, whose line is N + 1 for the first part, and always 1 for the second."""
    namespace = {}
    exec("\n" * number + "def fn_%d(): pass" % number, namespace)
    namespace["fn_%d" % number]()


def make_alike(number):
    namespace = {}
    exec("def same_%d(): pass" % (number % 7), namespace)
    namespace["same_%d" % (number % 7)]()


def freed_code():
    for number in range(CODES):
        make(number % 500)
    for number in range(CODES):
        make_alike(number)


def goes_round():
    """Called all the time: a trace that has it has begun."""


class Listed(list):
    def __init__(self, things):
        super().__init__(things)


class Mapped(dict):
    def __getitem__(self, key):
        return super().__getitem__(key)

    def __len__(self):
        return super().__len__()


class Called:
    def __call__(self):
        pass


def of_super(mapped):
    """The first object with dict.__getitem__ has another class than all later ones."""
    Listed([1])
    mapped["a"]
    len(mapped)
    dict(a=1).__getitem__("a")


def of_the_short_lived(number):
    type("Short_%d" % (number % 7), (), {})()
    functools.partial(len, "")()
    [].append(number)
    append = [].append
    append(number)


def of_instances(cached):
    Called()()
    cached(1)


def c_calls():
    of_super(Mapped(a=1))
    for number in range(CODES):
        of_the_short_lived(number)
    of_super(Mapped(a=1))
    of_instances(functools.lru_cache(None)(lambda number: number))


def settles():
    try:
        yield 1
    except ValueError:
        pass
    return 2


def waits_for(generator):
    result = yield from generator
    after()
    yield result


def after():
    pass


def throws_to_what_returns():
    for generator in (waits_for(settles()), waits_for(waits_for(settles()))):
        next(generator)
        generator.throw(ValueError())
        list(generator)


PARTS = {"freed_code": freed_code, "c_calls": c_calls, "throws": throws_to_what_returns}


def main():
    pact.say("ready")
    while True:
        goes_round()
        if select.select([pact.descriptor()], [], [], 0.001)[0]:
            word = pact.hear() or "finish"
            if word == "finish":
                break
            PARTS[word]()
            pact.say("ran")
    print("ended well")


main()

"""Waits for "run", then makes a fixed number of calls of each function, and says "ran". After "noise" it calls
`excluded` without end, until the next word."""
import select

import pact

EXCLUDED, KEPT = 100, 50


def excluded(number):
    return number + 1


def unwinding():
    raise KeyError


def within():
    return None


def kept(things):
    within()
    return len(things)


def around(things):
    return sum(kept(things) for _ in range(1)) + len(things)


def run():
    for number in range(EXCLUDED):
        excluded(number)
    for _ in range(KEPT):
        around([])
        try:
            unwinding()
        except KeyError:
            pass


def noise():
    while not select.select([pact.descriptor()], [], [], 0.001)[0]:
        for number in range(1000):
            excluded(number)
    pact.hear()


def main():
    pact.say("ready")
    while True:
        if select.select([pact.descriptor()], [], [], 0.001)[0]:
            told = pact.hear()
            if told == "noise":
                noise()
            elif told != "run":
                break
            run()
            pact.say("ran")


main()

"""Waits inside a multi-line comprehension whose instructions go back and forth between lines."""
import time
import pact


def wait():
    pact.say("ready")
    pact.hear()
    return 0


def negative():
    return [
        time.sleep(
            wait()  # line: element
        )
        for _
        in (
            1,
        )
    ]


negative()

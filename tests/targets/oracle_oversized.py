"""Frames of 1800 locals, larger than a data-stack chunk, between small ones: chunks come and go."""
import signal
import sys
import pact

LOCALS = "; ".join("v%d = 0" % number for number in range(1800))
SOURCE = """
def large_a(depth):
    {0}
    return step_a(depth)

def large_b(depth):
    {0}
    return step_b(depth)
""".format(LOCALS)
# rule: large_a -> step_a
# rule: large_b -> step_b
exec(compile(SOURCE, "<oversized>", "exec"))


def step_a(depth):
    if depth:
        return large_a(depth - 1)  # -> large_a
    return 1


def step_b(depth):
    if depth:
        return large_b(depth - 1)  # -> large_b
    return 2


def alternate():
    pact.say("ready")  # -> *
    while True:
        step_a(3)  # -> step_a
        step_b(2)  # -> step_b


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
alternate()  # -> alternate  # root

"""At "go", becomes another program of the same interpreter, at the same addresses if possible: exec without address
space randomisation. The functions before and after it are named "early" and "later".
"""
import ctypes
import os
import select
import sys
import pact

ADDR_NO_RANDOMIZE = 0x0040000
PROGRAM = """
def LIFE_inner(steps):
    total = 0
    for step in range(steps):
        total += step
    return total


def LIFE_outer(is_over):
    while not is_over():
        LIFE_inner(20_000)
"""


def become(life):
    os.execv(sys.executable, [sys.executable, sys.argv[0], life])


def is_told():
    return bool(select.select([pact.descriptor()], [], [], 0)[0])


def main():
    if len(sys.argv) == 1:
        ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
        become("early")
    life, names = sys.argv[1], {}
    exec(compile(PROGRAM.replace("LIFE", life), life + ".py", "exec"), names)
    pact.say("ready" if life == "early" else life)
    names[life + "_outer"](is_told)
    if life == "early":
        pact.hear()
        become("later")


main()

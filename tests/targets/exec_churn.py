"""Becomes a new image of itself again and again: exec under the same pid. Arguments: count of execs, seed, [state]."""
import os
import random
import sys
import pact


def spin(steps):
    total = 0
    for step in range(steps):
        total += step
    return total


def main():
    left, seed = int(sys.argv[1]), int(sys.argv[2])
    if len(sys.argv) == 3:
        pact.say("ready")
        pact.hear()  # "go": a recording has begun
    spin(random.Random(seed + left).randrange(200_000))
    if left > 0:
        os.execv(sys.executable, [sys.executable, sys.argv[0], str(left - 1), str(seed), "on"])
    print("last image ended well", flush=True)


main()

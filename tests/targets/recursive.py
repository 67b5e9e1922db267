"""Goes up and down a recursion of 20 frames for ever."""
import signal
import sys
import pact


def recurse(depth):
    if depth == 0:
        total = 0
        for number in range(200):
            total += number
        return total
    return recurse(depth - 1)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
pact.say("ready")
while True:
    recurse(20)

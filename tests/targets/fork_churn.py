"""Forks children that work for a moment and end, a bounded number at a time. Argument: children in all (0 = no end)."""
import os
import signal
import sys
import pact


def child_work(number):
    total = 0
    for step in range(20000 + number % 7 * 3000):
        total += step
    return total


def main():
    count = int(sys.argv[1])
    pact.say("ready")
    number = 0
    running = set()
    while count == 0 or number < count:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            child_work(number)
            os._exit(0)
        running.add(pid)
        number += 1
        while len(running) >= 8:
            running.discard(os.wait()[0])
    while running:
        running.discard(os.wait()[0])
    print("forked", number)


signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
main()

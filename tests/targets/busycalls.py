"""The main thread computes in one function, which makes a short call now and then, and holds the GIL all the time."""
import signal
import sys
import pact


def tick():
    pass


def busy_loop():
    total = 0
    pact.say("ready")
    while True:
        for number in range(1000):
            total += number
        tick()


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
busy_loop()

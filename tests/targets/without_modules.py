"""Calls functions, half of the time without modules, like an interpreter that is about to end; until a word comes."""
import os
import sys
import threading
import time
import pact

GONE = ("posix", "_signal", "_thread", "_imp")


def step(n):
    return n + 1


def work(seconds):
    n, ends = 0, time.monotonic() + seconds
    while time.monotonic() < ends:
        n = step(n)


def main():
    told = []
    threading.Thread(target=lambda: told.append(pact.hear()), daemon=True).start()
    kept = {name: sys.modules[name] for name in GONE}
    pact.say("ready")
    while not told:
        work(0.002)
        for name in GONE:
            del sys.modules[name]
        work(0.002)
        sys.modules.update(kept)
    os._exit(0)


main()

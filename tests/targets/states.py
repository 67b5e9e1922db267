"""Threads that wait, each in its own way, and two that compete for the GIL. Argument "gc": also one that collects."""
import gc
import os
import select
import sys
import threading
import time
import pact


def busy():
    while True:
        for number in range(1000):
            number * number


def sleeping():
    time.sleep(10000)


def polling():
    select.epoll().poll()


def reading():
    os.read(os.pipe()[0], 1)


def locked():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def collecting():
    kept = [[number] for number in range(200000)]
    while kept:
        gc.collect()


def main():
    work = {"gc": (collecting,)}.get(sys.argv[1] if len(sys.argv) > 1 else "", (busy, busy, sleeping, polling, reading, locked))
    for number, target in enumerate(work):
        threading.Thread(target=target, name=f"{target.__name__}-{number}", daemon=True).start()
    pact.say("ready")
    pact.hear()
    os._exit(0)


main()

"""Threads start and end all the time; the functions of each follow a grammar."""
import signal
import sys
import threading
import pact


def brief(number):
    total = 0
    for step in range(number % 500):
        total += step
    return total


def short_life(number):
    brief(number)  # -> brief


def main():
    pact.say("ready")  # -> *
    number = 0  # -> *
    while True:  # -> *
        threads = [threading.Thread(target=short_life, args=(number + slot,)) for slot in range(4)]  # -> <listcomp>, *
        for thread in threads:  # -> *
            thread.start()  # -> *
        for thread in threads:  # -> *
            thread.join()  # -> *
        number += 4  # -> *


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
main()  # -> main  # root

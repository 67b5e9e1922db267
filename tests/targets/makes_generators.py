"""Makes generators all the time that never run, on two threads, and some that do."""
import select
import sys
import threading

import pact

ending = threading.Event()


def never():
    yield never


def never_with_cells(number):
    def inner():
        return number
    yield inner


async def never_asynchronous():
    yield never_asynchronous


def runs():
    yield 1
    yield 2


def makes(count=300):
    for number in range(count):
        never()
        never_with_cells(number)
        never_asynchronous()
        never()
    for _ in runs():
        pass


def works():
    while not ending.is_set():
        makes()


def main():
    sys.setswitchinterval(0.0005)
    thread = threading.Thread(target=works)
    thread.start()
    pact.say("ready")
    while not select.select([pact.descriptor()], [], [], 0)[0]:
        makes()
    ending.set()
    thread.join()
    print("ended well")


main()

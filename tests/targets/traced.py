"""Calls that can be counted, over and over, on three threads; answers "look" with what a tracer could leave behind."""
import os
import select
import sys
import threading
import time

import pact

ending = threading.Event()
MAIN = 2
bursts = [0, 0, 0]


def leaf(number):
    return number + 1


def recursive(depth):
    return depth if depth == 0 else recursive(depth - 1)


def three_times():
    yield 1
    yield 2
    yield 3


def raises():
    raise ValueError("raised")


def burst(slot):
    for number in range(7):
        leaf(number)
    recursive(5)
    for _ in three_times():
        pass
    try:
        raises()
    except ValueError:
        pass
    bursts[slot] += 1


def work(slot):
    while not ending.is_set():
        burst(slot)
        time.sleep(0.001)


def link_of(descriptor):
    try:
        return os.readlink("/proc/self/fd/" + descriptor)
    except OSError:  # of the listing itself
        return ""


def traces():
    """Everything in us that a tracer changes, as one line."""
    monitoring = getattr(sys, "monitoring", None)
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring else []
    events = [monitoring.get_events(number) for number in range(6) if monitoring.get_tool(number)] if monitoring else []
    with open("/proc/self/maps") as maps:
        shared = "ptrace-prof-ring" in maps.read()
    memfds = [name for name in map(link_of, os.listdir("/proc/self/fd")) if "memfd" in name]
    names = sorted(name for name in vars(sys.modules["__main__"]))
    return repr((tools, events, sys.getprofile(), sys.gettrace(), memfds, shared, names, sorted(sys.modules)))


def main():
    threads = [threading.Thread(target=work, args=(slot,), daemon=True) for slot in range(MAIN)]
    for thread in threads:
        thread.start()
    traces()  # so that its imports are done
    pact.say("ready")
    while True:
        burst(MAIN)
        if select.select([pact.descriptor()], [], [], 0.001)[0]:
            if pact.hear() != "look":
                break
            pact.say("traces", traces())
    ending.set()
    for thread in threads:
        thread.join()
    print("ended well")


main()

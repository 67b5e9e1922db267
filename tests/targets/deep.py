"""Waits at the bottom of a recursion as deep as the argument says; with "busy" after it, it works there meanwhile."""
import sys
import threading
import time
import pact

DEPTH = int(sys.argv[1])


def descend(depth):
    if depth > 1:
        return descend(depth - 1)
    if "busy" in sys.argv:
        return work_until_told()
    pact.say("ready")
    return pact.hear()


def rest():
    time.sleep(0.001)


def work_until_told():
    told = []
    threading.Thread(target=lambda: told.append(pact.hear())).start()
    pact.say("ready")
    while not told:
        rest()
    return told[0]


def start():
    descend(DEPTH)


sys.setrecursionlimit(DEPTH + 1000)
threading.stack_size(1 << 30 if DEPTH > 10000 else 1 << 28)
thread = threading.Thread(target=start, name="deep")
thread.start()
thread.join()

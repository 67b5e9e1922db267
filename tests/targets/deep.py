"""Waits at the bottom of a recursion of as many frames as the argument says."""
import sys
import threading
import pact

DEPTH = int(sys.argv[1])


def descend(depth):
    if depth > 1:
        return descend(depth - 1)
    pact.say("ready")
    return pact.hear()


def start():
    descend(DEPTH)


sys.setrecursionlimit(DEPTH + 1000)
threading.stack_size(1 << 30 if DEPTH > 10000 else 1 << 28)
thread = threading.Thread(target=start, name="deep")
thread.start()
thread.join()

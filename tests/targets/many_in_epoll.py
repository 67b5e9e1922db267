"""Threads that wait in epoll_wait(2) and count how often that ended early (EINTR), and a main thread that calls.
Arguments: how many; "asleep": main wakes every 10 ms, calls, and sleeps again; "by turns": two more threads call."""
import ctypes
import errno
import os
import select
import sys
import threading
import time
import pact

LIBC = ctypes.CDLL(None, use_errno=True)
interrupted = []


def waits_in_epoll(descriptor):
    event = ctypes.create_string_buffer(64)
    while LIBC.epoll_wait(descriptor, event, 1, -1) < 0 and ctypes.get_errno() == errno.EINTR:
        interrupted.append(descriptor)


def begins(descriptor):
    waits_in_epoll(descriptor)


def step(n):
    return n + 1


def calls_for_ever():
    n = 0
    while True:
        n = step(n)


def main():
    threading.stack_size(262144)
    polls = [select.epoll() for _ in range(int(sys.argv[1]))]
    for one in polls:
        threading.Thread(target=begins, args=(one.fileno(),), daemon=True).start()
    how = sys.argv[2:]
    for _ in range(2 if how == ["by turns"] else 0):
        threading.Thread(target=calls_for_ever, daemon=True).start()
    pact.say("ready")
    ended = threading.Event()
    threading.Thread(target=lambda: (pact.hear(), ended.set()), daemon=True).start()
    n = 0
    while not ended.is_set():
        n = step(n)
        if how == ["asleep"]:
            time.sleep(0.01)
    pact.say("interrupted", len(interrupted))
    os._exit(0)


main()

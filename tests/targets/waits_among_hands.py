"""Threads hand over the GIL all the time, and one counts how often stops end its wait for events in C early."""
import ctypes
import select
import threading
import time

import pact

libc = ctypes.CDLL(None, use_errno=True)  # which releases the GIL around a call
ending = threading.Event()
ended_early = [0]


def hands_on():
    while not ending.is_set():
        time.sleep(0)


def waits():
    epoll, events = select.epoll(), ctypes.create_string_buffer(12)
    while libc.epoll_wait(epoll.fileno(), events, 1, -1) < 0:
        ended_early[0] += 1


def main():
    threading.Thread(target=waits, daemon=True).start()
    threads = [threading.Thread(target=hands_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    pact.say("ready")
    while pact.hear() == "count":
        pact.say("count", ended_early[0])
    ending.set()


main()

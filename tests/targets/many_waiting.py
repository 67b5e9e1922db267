"""200 threads that wait, and one more that wakes up, works for some 20 ms and sleeps again. Argument "asleep": without
that one; "handing": in its place two threads, started last, that hand the GIL to each other all the time."""
import os
import sys
import threading
import time
import pact


def waits(event):
    event.wait()


def wakes():
    while True:
        time.sleep(0.1)
        worked_from = time.thread_time()
        while time.thread_time() - worked_from < 0.02:
            pass


def hands_on(mine, others):
    while True:
        mine.acquire()
        for _ in range(200):
            pass
        others.release()


def hand_on():
    locks = threading.Lock(), threading.Lock()
    locks[1].acquire()
    for pair in (locks, locks[::-1]):
        threading.Thread(target=hands_on, args=pair, daemon=True).start()


def main():
    threading.stack_size(131072)
    for _ in range(200):
        threading.Thread(target=waits, args=(threading.Event(),), daemon=True).start()
    if sys.argv[1:] == ["handing"]:
        hand_on()
    elif sys.argv[1:] != ["asleep"]:
        threading.Thread(target=wakes, name="wakes", daemon=True).start()
    pact.say("ready")
    pact.hear()
    os._exit(0)


main()

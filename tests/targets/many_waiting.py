"""200 threads that wait, and one more that wakes up, works for some 20 ms and sleeps again. Argument "asleep": it does not."""
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


def main():
    threading.stack_size(131072)
    for _ in range(200):
        threading.Thread(target=waits, args=(threading.Event(),), daemon=True).start()
    if sys.argv[1:] != ["asleep"]:
        threading.Thread(target=wakes, name="wakes", daemon=True).start()
    pact.say("ready")
    pact.hear()
    os._exit(0)


main()

"""Busy in several threads; answers each "ping" with "pong" and its count of beats; ends on "finish"."""
import threading
import pact

beats = [0, 0, 0]
ending = threading.Event()


def inner(slot):
    beats[slot] += 1
    return beats[slot]


def outer(slot):
    for _ in range(50):
        inner(slot)


def beat(slot):
    while not ending.is_set():
        outer(slot)


def main():
    threads = [threading.Thread(target=beat, args=(slot,), daemon=True) for slot in range(len(beats))]
    for thread in threads:
        thread.start()
    pact.say("ready")
    while pact.hear() == "ping":
        pact.say("pong", sum(beats))
    ending.set()
    for thread in threads:
        thread.join()
    print("ended well with", len(beats), "threads")


main()

"""Captures that begin and end all the time, in every way, among threads that come and go and children that fork.

argv: seconds. Says "cycles JSON": counts of everything, and what went wrong.
"""
import json
import os
import sys
import threading
import time
import warnings

import pact
import stub_corpus
from stub_collector import LEFT, Capture, Stub, told_layout

warnings.simplefilter("ignore")  # of forks among threads
END = 7
stop, wrong = [], []
counts = {"captures": 0, "threads": 0, "children": 0, "calls": 0}


def again_and_again(kind):
    def decorated(function):
        def work():
            while not stop:
                function()
                counts[kind] += 1
        return work
    return decorated


@again_and_again("threads")
def spawn():
    thread = threading.Thread(target=stub_corpus.calls)
    thread.start()
    thread.join()


@again_and_again("calls")
def call():
    for function, _ in stub_corpus.SCENARIOS:
        function()


@again_and_again("children")
def fork():
    child = os.fork()
    if child == 0:
        try:
            stub_corpus.calls()
            stub_corpus.sums()
        finally:
            os._exit(END)
    status = os.waitpid(child, 0)[1]
    if status != END << 8:
        wrong.append(f"a child ended with status {status:#x}")


def capture_once(stub, number):
    with Capture(stub, rings=32, records=1 << 10, c_calls=bool(number & 1)) as capture:
        stub_corpus.calls()
        if number % 7 == 0:
            capture.disarm()
            capture.ask_to_leave()
        elif number % 5 == 0:
            capture.expire()
        else:
            return
        while capture.state != LEFT:
            pass


def main():
    stub = Stub(told_layout())
    threads = [threading.Thread(target=work, daemon=True) for work in (spawn, spawn, call, call, fork)]
    for thread in threads:
        thread.start()
    sys.setswitchinterval(0.0005)
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        capture_once(stub, counts["captures"])
        counts["captures"] += 1
        while stub.busy:
            pass
    stop.append(True)
    for thread in threads:
        thread.join()
    with open("/proc/self/maps") as maps:
        if "pp-stub-test" in maps.read():
            wrong.append("a channel is still mapped")
    pact.say("cycles", json.dumps([counts, wrong[:5]]))


pact.say("ready")
main()

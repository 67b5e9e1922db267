"""Three functions whose shares of the time are 10, 20 and 70 %, as measured by the program itself.

The 10 % consist of tiny calls, the 20 % of a mix, the 70 % of no call at all. At every step the function that is
furthest behind its share runs for some microseconds. Answers "clock" with "clock ten twenty seventy other" in ns.
"""
import json
import select
import signal
import sys
import time
import pact

SHARES = (0.10, 0.20, 0.70)


def tiny():
    pass


def ten():
    for _ in range(400):
        tiny()  # -> tiny


def mixed(limit):
    total = 0
    for number in range(limit):
        total += number
    return total


def twenty():
    for _ in range(12):
        mixed(60)  # -> mixed


def seventy():
    total = 0
    for number in range(1500):
        total += number * number


def share_out():
    functions = (ten, twenty, seventy)
    clock = time.perf_counter_ns
    spent = [0, 0, 0]
    began = clock()
    poll = select.poll()
    if pact.descriptor() >= 0:
        poll.register(pact.descriptor(), select.POLLIN)
    pact.say("ready")  # -> *
    steps = 0
    while True:
        slot = max(range(3), key=lambda each: SHARES[each] * (sum(spent) + 1) - spent[each])  # -> <lambda>
        before = clock()
        functions[slot]()  # -> ten, twenty, seventy
        spent[slot] += clock() - before
        steps += 1
        if steps % 1024 == 0 and poll.poll(0):
            if pact.hear() != "clock":  # -> *
                break
            pact.say("clock", json.dumps(spent + [clock() - began - sum(spent)]))  # -> *


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
share_out()  # -> share_out  # root

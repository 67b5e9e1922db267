"""Threads (their number is the argument) that hand over the GIL every 20 to 50 us: one works, the others wait for their
turn.

The work of each turn is a function of its own, of 20 to 50 us, so the shares of all turns' work are known by
construction.
"""
import json
import select
import sys
import threading

import own_time
from own_time import clock, costs_of, pact

MANY = int(sys.argv[1])
WORK = """
def work_{index}():
    total = 0
    for number in range({amount}):
        total += number
"""
AMOUNTS = [500 + 700 * index // max(1, MANY - 1) for index in range(MANY)]
for number in range(MANY):
    exec(compile(WORK.format(index=number, amount=AMOUNTS[number]), "handover", "exec"), globals())
turns = [threading.Lock() for _ in range(MANY)]
for turn in turns:
    turn.acquire()
rounds = [0]


def wait_for_turn(index):
    turns[index].acquire()


def give_turn(index):
    turns[(index + 1) % MANY].release()


def worker(index):
    work = globals()[f"work_{index}"]
    while True:
        wait_for_turn(index)
        work()
        if index == 0:
            rounds[0] += 1
        give_turn(index)


costs = costs_of([globals()[f"work_{index}"] for index in range(MANY)])
for index in range(MANY):
    threading.Thread(target=worker, args=(index,), daemon=True).start()
turns[0].release()
poll = select.poll()
if pact.descriptor() >= 0:
    poll.register(pact.descriptor(), select.POLLIN)
pact.say("ready")
began = clock()
while True:
    poll.poll()  # the main thread sleeps here
    if pact.hear() != "clock":
        break
    work = {name: int(each * rounds[0]) for name, each in costs.items()}
    pact.say("clock", json.dumps({"among": work, "all": own_time.clock() - began}))

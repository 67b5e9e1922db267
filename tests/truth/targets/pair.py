"""Two processes that alternate: one works for 100 us, the other for 60, and each waits in a read of a pipe meanwhile."""
import json
import os
import select

from own_time import clock, costs_of, pact

WORK = """
def {name}():
    total = 0
    for number in range({amount}):
        total += number
"""
exec(compile(WORK.format(name="ping_work", amount=2500), "pair", "exec"), globals())
exec(compile(WORK.format(name="pong_work", amount=1500), "pair", "exec"), globals())


def await_byte(descriptor):
    return os.read(descriptor, 1)


def send_byte(descriptor):
    os.write(descriptor, b"x")


def pong(from_ping, to_ping):
    while await_byte(from_ping):
        pong_work()  # noqa: F821
        send_byte(to_ping)


def ping(to_pong, from_pong):
    costs = costs_of([ping_work, pong_work])  # noqa: F821
    poll = select.poll()
    if pact.descriptor() >= 0:
        poll.register(pact.descriptor(), select.POLLIN)
    rounds, began = 0, clock()
    while True:
        for _ in range(50):
            ping_work()  # noqa: F821
            send_byte(to_pong)
            await_byte(from_pong)
        rounds += 50
        if poll.poll(0):
            if pact.hear() != "clock":
                return
            pact.say("clock", json.dumps({"among": {name: int(each * rounds) for name, each in costs.items()},
                                          "all": clock() - began}))


there, here = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    pong(there[0], here[1])
pact.say("child", child)
pact.say("ready")
ping(there[1], here[0])

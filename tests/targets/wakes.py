"""Its only thread waits until it is told to work, works for a while, says so and waits again."""
import time

import pact


def work():
    return sum(number for number in range(10))


def turn():
    for _ in range(3000):
        work()
        time.sleep(0.0005)


pact.say("ready")
while pact.hear() == "work":
    turn()
    pact.say("worked")

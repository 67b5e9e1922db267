"""Its only thread waits for a word, works for a while, answers, and waits again."""
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

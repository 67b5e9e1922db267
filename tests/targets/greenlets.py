"""Greenlets that switch, throw, are killed and dropped, at each "run", which is answered with "ran". "finish" ends it.

argv: the folder that contains greenlet; `late`: it is imported only at "run".
"""
import select
import sys
import threading

import pact


def bring_in():
    if sys.argv[1] not in sys.path:
        sys.path.insert(0, sys.argv[1])
    global Greenlet, GreenletExit, current
    from greenlet import GreenletExit, getcurrent as current, greenlet as Greenlet


def to_parent():
    return current().parent.switch()


def inner():
    to_parent()


def outer():
    inner()
    inner()


def switches():
    one, other = Greenlet(outer), Greenlet(outer)
    for greenlet in (one, other, other, one, one, other):
        greenlet.switch()


def handles():
    """The thrown exception has arrived."""


def catches():
    try:
        to_parent()
    except ValueError:
        handles()


def throws():
    one = Greenlet(catches)
    one.switch()
    one.throw(ValueError)
    try:
        Greenlet(catches).throw(ValueError)  # it never runs
    except ValueError:
        pass


def raises():
    one = Greenlet(fails)
    one.switch()
    try:
        one.switch()
    except KeyError:
        handles()


def fails():
    to_parent()
    raise KeyError


def dies():
    try:
        to_parent()
    finally:
        handles()


def kills():
    one = Greenlet(dies)
    one.switch()
    one.throw()  # GreenletExit


def drops():
    one = Greenlet(dies)
    one.switch()
    del one  # this kills it


def steps():
    yield to_parent()
    inner()
    yield


def takes_steps():
    for _ in steps():
        pass


def generates():
    one = Greenlet(takes_steps)
    while not one.dead:
        one.switch()


def brief():
    """Ends before the next one begins, which gets its address."""


def many():
    for _ in range(50):
        Greenlet(brief).switch()


def makes_another():
    one = Greenlet(outer)
    one.switch()
    to_parent()
    one.parent = current()
    one.switch()


def nests():
    one = Greenlet(makes_another)
    one.switch()
    one.switch()


def dives(depth):
    if depth:
        dives(depth - 1)
    else:
        to_parent()


def deep():
    one = Greenlet(dives)
    one.switch(150)
    one.switch()


def in_a_thread():
    one = Greenlet(outer)
    for _ in range(3):
        one.switch()


def threads():
    all_of_them = [threading.Thread(target=in_a_thread) for _ in range(2)]
    for one in all_of_them:
        one.start()
    for one in all_of_them:
        one.join()


def calls_back(_):
    """Called from a C function that runs on top of another one."""
    return 0


def sorts():
    sorted((2, 1), key=calls_back)
    to_parent()
    sorted((2, 1), key=calls_back)


def from_c():
    one = Greenlet(sorts)
    one.switch()
    one.switch()


def waits():
    inner()
    inner()


SHAPES = (switches, throws, raises, kills, drops, generates, many, nests, deep, threads, from_c)


def run():
    bring_in()
    for shape in SHAPES:
        shape()


def goes_round():
    """Called all the time: a trace that has it has begun."""


def goes_round_elsewhere():
    """Makes sure that a trace does not always begin in the same greenlet."""
    while True:
        goes_round()
        select.select([pact.descriptor()], [], [], 0.001)
        to_parent()


def finished(one):
    while not one.dead:
        one.switch()


def main():
    waiting, others = [], []
    if sys.argv[2:] != ["late"]:
        bring_in()
        waiting = [Greenlet(waits), Greenlet(waits)]
        for one in waiting:
            one.switch()
        others = [Greenlet(goes_round_elsewhere) for _ in range(3)]
    pact.say("ready")
    while True:
        goes_round()
        for one in others:
            one.switch()
        if select.select([pact.descriptor()], [], [], 0.001)[0]:
            if (pact.hear() or "finish") == "finish":
                break
            run()
            while waiting:
                finished(waiting.pop())
            pact.say("ran")
    print("ended well")


main()

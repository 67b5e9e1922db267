"""A training loop whose optimizer is made like those of torch.optim, and another thread.

Each step calls forward three times and then the optimizer's step once. "children N" on the command line: with N forked
children that wait for its end. Without "train" there, it takes no steps. "burn": answered after many calls.
"""
import os
import select
import sys
import threading
import time

import pact

# What torch/optim/optimizer.py does to the step of each optimizer. Only its file and qualified names matter.
OPTIMIZER = '''
import functools


class Optimizer:
    @staticmethod
    def profile_hook_step(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            return func(*args, **kwargs)
        return wrapper


class SGD(Optimizer):
    @Optimizer.profile_hook_step
    def step(self):
        update()


def update():
    pass
'''
ending = threading.Event()


def forward(number):
    return number * 2


def beside():
    while not ending.is_set():
        forward_beside()
        time.sleep(0.0005)


def forward_beside():
    pass


def train_step(optimizer):
    for number in range(3):
        forward(number)
    optimizer.step()
    time.sleep(0.001)


def burn():
    for number in range(20_000):
        forward(number)


def make_optimizer():
    names = {}
    exec(compile(OPTIMIZER, "/srv/site-packages/torch/optim/optimizer.py", "exec"), names)
    return names["SGD"]()


def fork_children(count):
    readable, writable = os.pipe()  # the pipe ends with us
    for _ in range(count):
        if os.fork() == 0:
            os.close(writable)
            os.read(readable, 1)
            os._exit(0)
    return writable


def main():
    words = sys.argv[1:]
    children = fork_children(int(words[words.index("children") + 1])) if "children" in words else -1
    optimizer = make_optimizer()
    thread = threading.Thread(target=beside, daemon=True)
    thread.start()
    pact.say("ready")
    while True:
        if "train" in words:
            train_step(optimizer)
        else:
            time.sleep(0.001)
        if select.select([pact.descriptor()], [], [], 0)[0]:
            if pact.hear() != "burn":
                break
            burn()
            pact.say("burnt")
    ending.set()
    thread.join()
    if children >= 0:
        os.close(children)
    print("ended well")


main()

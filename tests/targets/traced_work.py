"""Work whose events can be counted, done on request and timed: alone, traced from outside, or under its own profiler.

  count WORK                        "counted PYTHON C": events of one turn, by sys.setprofile
  run PROFILER WORK TURNS           "times JSON": thread CPU time of each turn in ns; PROFILER: none, cProfile, viztracer, torch
  untouched                         works until no hook of a tracer is left; "untouched NS", CLOCK_REALTIME
  version PACKAGE                   "version TEXT"
  events N                          makes about N events without a pause; "made EVENTS NS", CLOCK_MONOTONIC

"failed WHY" instead: a peer that is not there, or does not work here. PP_PACKAGES: where viztracer may be; PP_DEMO: the
folder of the training script, for the work "train". Between two words it runs Python code, so that a tracer gets in.
"""
import contextlib
import json
import os
import select
import sys
import threading
import time

import pact

ITEMS = list(range(50))
FIB = 20


def fib(number):
    return number if number < 2 else fib(number - 1) + fib(number - 2)


def work_fib():
    fib(FIB)


class Account:
    def __init__(self):
        self.total = 0

    def add(self, amount):
        self.total += amount

    @property
    def balance(self):
        return self.total


def work_methods():
    account = Account()
    for number in range(6000):
        account.add(number)
        account.balance


def work_c_calls():
    items = ITEMS
    for number in range(4000):
        items.append(number)
        len(items)
        abs(number)
        items.pop()


def work_loop():
    total = 0
    for number in range(300000):
        total += number & 3


class Training:
    """One step of the demo's training script on one batch."""
    step = None

    @classmethod
    def prepare(cls):
        sys.path.insert(0, os.environ["PP_DEMO"])
        import torch
        import train_transformer as script
        torch.manual_seed(1)
        torch.set_num_threads(1)
        windows = script.Windows(script.corpus())
        trainer = script.Trainer(script.Transformer(len(windows.vocabulary)), None)
        inputs, targets = (torch.stack(column) for column in zip(*(windows[100 * number] for number in range(8))))
        cls.step = staticmethod(lambda: trainer.train_step(inputs, targets))
        for _ in range(20):
            cls.step()


def work_train():
    if Training.step is None:
        Training.prepare()
    Training.step()


WORKS = {name[5:]: function for name, function in list(globals().items()) if name.startswith("work_")}


@contextlib.contextmanager
def under_none():
    yield


@contextlib.contextmanager
def under_cprofile():
    import cProfile
    profile = cProfile.Profile()
    profile.enable()
    try:
        yield
    finally:
        profile.disable()


@contextlib.contextmanager
def under_viztracer():
    import viztracer
    tracer = viztracer.VizTracer(verbose=0, tracer_entries=1000000)
    tracer.start()
    try:
        yield
    finally:
        tracer.stop()
        tracer.clear()


@contextlib.contextmanager
def under_torch():
    import torch
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True):
        yield


PROFILERS = {"none": under_none, "cProfile": under_cprofile, "viztracer": under_viztracer, "torch": under_torch}


def timed(work):
    started = time.thread_time_ns()
    work()
    return time.thread_time_ns() - started


def run(profiler, name, turns):
    times, work = [], WORKS[name]
    work()
    with PROFILERS[profiler]():
        for _ in range(int(turns)):
            times.append(timed(work))
            time.sleep(0.005)  # the collector need not hurry
    pact.say("times", json.dumps(times))


def count(name):
    work = WORKS[name]
    work()
    counts = [0, 0]

    def told(_frame, event, _argument):
        counts[event.startswith("c_")] += 1
    sys.setprofile(told)
    work()
    sys.setprofile(None)
    pact.say("counted", counts[0], counts[1] - 1)  # without sys.setprofile itself


def hooks():
    """A function that says whether a tracer has its hooks in this thread."""
    if sys.version_info >= (3, 12):
        get_tool = sys.monitoring.get_tool
        return lambda: get_tool(3) or get_tool(4)
    import ctypes
    state = ctypes.pythonapi.PyThreadState_Get
    state.restype = ctypes.c_void_p
    profile_function = ctypes.c_uint64.from_address(state() + (64 if sys.version_info[:2] == (3, 11) else 56))
    return lambda: profile_function.value


def beat():
    return sum(range(300))


def untouched():
    hooked = hooks()
    while hooked():
        beat()
    pact.say("untouched", time.time_ns())


def events(number):
    each = 2 * calls_of_fib(FIB)
    turns = int(number) // each + 1
    for _ in range(turns):
        fib(FIB)
    pact.say("made", turns * each, time.monotonic_ns())


def calls_of_fib(number):
    return 1 if number < 2 else 1 + calls_of_fib(number - 1) + calls_of_fib(number - 2)


def version(name):
    pact.say("version", __import__(name).__version__)


VERBS = {"count": count, "run": run, "untouched": untouched, "events": events, "version": version}


def main():
    if os.environ.get("PP_PACKAGES"):
        sys.path.append(os.environ["PP_PACKAGES"])
    # A waiting thread: in any real job a tracer has to handle threads.
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    pact.say("ready")
    while True:
        for _ in range(100):
            beat()
        if select.select([pact.descriptor()], [], [], 0.0002)[0]:
            word, *arguments = pact.hear().split() or ["finish"]
            if word == "finish":
                return
            try:
                VERBS[word](*arguments)
            except Exception as error:
                pact.say("failed", type(error).__name__, error)


main()

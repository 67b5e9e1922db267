"""benchmark.py FOLDER [arguments]: one of pyperformance's benchmarks (its folder) as an endless loop of its fixed work.

The benchmark's own script runs, with a `pyperf` of ours: the work to be measured is repeated, in turns if there are
several pieces of it.
"""
import argparse
import asyncio
import os
import runpy
import sys
import time
import types

from own_time import pact

jobs = []


class Runner:
    def __init__(self, *_arguments, **_options):
        self.argparser = argparse.ArgumentParser()
        self.metadata = {}
        self.args = None

    def parse_args(self, args=None):
        self.args = self.argparser.parse_args(args)
        return self.args

    def bench_func(self, _name, function, *arguments, **_options):
        jobs.append(lambda: function(*arguments))

    def bench_time_func(self, _name, function, *arguments, **_options):
        jobs.append(lambda: function(1, *arguments))

    def bench_async_func(self, _name, function, *arguments, **_options):
        jobs.append(lambda: asyncio.run(function(*arguments)))


def pyperf():
    module = types.ModuleType("pyperf")
    module.Runner = Runner
    module.perf_counter = time.perf_counter
    module.python_implementation = lambda: "cpython"
    return module


def repeat():
    for job in jobs:  # once, to create what is created at the first run
        job()
    pact.say("ready")
    while True:
        for job in jobs:
            job()


folder = sys.argv[1]
sys.modules["pyperf"] = pyperf()
sys.path.insert(0, folder)
sys.argv = sys.argv[1:]
sys.argv[0] = os.path.join(folder, "run_benchmark.py")
runpy.run_path(sys.argv[0], run_name="__main__")
repeat()

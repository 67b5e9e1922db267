"""What it costs a training step to have its operators recorded, beside PyTorch's own profiler in the job.

Two processes for each PyTorch, on one core and in turns: one is recorded by us from outside, the other runs its own
profiler. The thread CPU time of steps, medians over all turns of all rounds; what the profiler does with its events when
it ends is not in it.
"""
import json
import math
import os
import re
import time
from dataclasses import dataclass, field

from parts.statistics_of_ratios import median
from parts.target import TARGET_CORE
from parts.tools import TOOL_CORE
from parts.traced import Failed, with_torch
from support import profiler
from support.target_process import TargetProcess

JOBS = ("perceptron", "transformer")
STEPS = 30   # of a turn
ROUNDS = 8   # in a full run
# What is recorded: our options, and what PyTorch's own profiler is asked for.
KINDS = {
    "operators": (("--torch", "on"), ()),
    "with shapes": (("--record-shapes",), ("record_shapes",)),
    "with memory": (("--profile-memory",), ("profile_memory",)),
    "with Python calls": (("--mode", "trace"), ("with_stack",)),
    "with Python calls, shapes": (("--mode", "trace", "--record-shapes"), ("with_stack", "record_shapes")),
    "all of it": (("--mode", "trace", "--record-shapes", "--profile-memory"), ("with_stack", "record_shapes", "profile_memory")),
}


@dataclass
class StepCost:
    """One job on one PyTorch: thread CPU time of a step in ns, by kind; "": not recorded."""
    torch: str
    job: str
    operators: int = 0  # of a step
    ours: dict = field(default_factory=dict)
    theirs: dict = field(default_factory=dict)

    def slowdown(self, times, kind):
        return median(times[kind]) / median(times[""])

    def added(self, times, kind):
        """ns for each operator."""
        return (median(times[kind]) - median(times[""])) / max(self.operators, 1)

    def ratio(self, kind):
        """The time that PyTorch's profiler adds, divided by ours."""
        mine = self.added(self.ours, kind)
        if kind not in self.theirs:
            return math.nan
        return self.added(self.theirs, kind) / mine if mine > 0 else float("inf")


class Worker(TargetProcess):
    def __init__(self, interpreter):
        super().__init__("torch_jobs.py", interpreter)
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            os.sched_setaffinity(int(tid), {TARGET_CORE})

    def ask(self, *words):
        self.tell(" ".join(map(str, words)))
        return self.expect("done").text.split(" ", 1)[1]

    def step(self, *profiled):
        """Thread CPU time of a step of a turn, in ns."""
        return json.loads(self.ask("timed", STEPS, *profiled)) / STEPS


def _recorded(worker, options):
    """A step's time while it is recorded, and the number of operators of a step."""
    recording = profiler.Recording(worker.pid, "-d", "1h", *options, preexec=profiler.pinned_to(TOOL_CORE))
    try:
        recording.begun()
        worker.step()  # the layout is found out
        took = worker.step()
        recording.interrupt()
        finished = recording.wait()
        if finished.status != 0:
            raise Failed(f"record {' '.join(options)}: {finished.errors.strip()}")
        operators = re.search(r"([\d,]+) operators of PyTorch", finished.errors)
        if not operators or " lost " in operators.string.split("operators of PyTorch")[1].split("\n")[0]:
            raise Failed(f"record {' '.join(options)}: {finished.errors.strip()}")
        return took, int(operators[1].replace(",", "")) // (2 * STEPS)
    finally:
        recording.remove()


class Pair:
    """The two processes. The profiler may end the one that it runs in: then there is another one."""

    def __init__(self, interpreter, notes):
        self.interpreter, self.notes = interpreter, notes
        self.ours, self.apart = Worker(interpreter), Worker(interpreter)
        self.fatal = set()  # what the profiler was asked for when it ended its job

    def close(self):
        self.ours.close()
        self.apart.close()

    def begin(self, job):
        for worker in (self.ours, self.apart):
            worker.ask("job", job)
            worker.step()

    def profiled(self, job, asked):
        """A step's time under the profiler; None: it ended its job, now or before."""
        if asked in self.fatal:
            return None
        try:
            return self.apart.step(*(asked or ("plain",)))
        except AssertionError as end:  # it says how its target ended
            self.fatal.add(asked)
            self.notes.append(f"torch.profiler({', '.join(asked)}) ended its job on CPython {self.interpreter.version}: "
                              f"{str(end).splitlines()[0][-60:]}")
            self.apart.close()
            self.apart = Worker(self.interpreter)
            self.apart.ask("job", job)
            self.apart.step()
            return None


def _measure(pair, rounds, deadline):
    costs = []
    for job in JOBS:
        cost = StepCost(f"{pair.ours.ask('version')}, CPython {pair.interpreter.version}", job)
        pair.begin(job)
        for done in range(rounds):
            if done >= 2 and time.monotonic() > deadline:
                break
            for kind, (options, asked) in KINDS.items():
                for worker, times in ((pair.ours, cost.ours), (pair.apart, cost.theirs)):
                    times.setdefault("", []).append(worker.step())
                took, cost.operators = _recorded(pair.ours, options)
                cost.ours.setdefault(kind, []).append(took)
                if (theirs := pair.profiled(job, asked)) is not None:
                    cost.theirs.setdefault(kind, []).append(theirs)
        costs.append(cost)
    return costs


def measure(minutes, share, say):
    """(costs, notes). `share`: of a full run's rounds."""
    found, notes, capable = [], [], with_torch()
    if not capable:
        notes.append("No interpreter here has PyTorch: the cost of recording it was not measured.")
    for number, interpreter in enumerate(capable):
        say(f"  operators: CPython {interpreter}")
        deadline = time.monotonic() + 60 * minutes / len(capable) / len(JOBS)
        pair = Pair(interpreter, notes)
        try:
            found += _measure(pair, max(2, round(ROUNDS * share)), deadline)
        except (Failed, RuntimeError, OSError) as failure:
            notes.append(f"Operators on CPython {interpreter.version}: {' '.join(str(failure).split())[-300:]}")
        finally:
            pair.close()
    return found, notes

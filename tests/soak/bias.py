"""Shares of time in a recording against those that the target measured itself: 10, 20 and 70 %, the 10 % in tiny calls.

At full length the difference must be below 1 % (absolute) beyond three standard errors of sampling. The slice asks
for what its number of samples can show: 4 % and six standard errors, so that it does not fail by chance; a profiler
that drops what moves is off by more.
"""
import json
import math
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import profiler, soak  # noqa: E402
from support.stacks import plain_names  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402

FUNCTIONS = ("ten", "twenty", "seventy")
BOUND, ERRORS = (0.01, 3) if soak.FULL else (0.04, 6)


def clock(target):
    target.tell("clock")
    return json.loads(target.expect("clock").text.split(" ", 1)[1])


def shares(amounts):
    total = sum(amounts)
    return [amount / total for amount in amounts] if total else [0.0] * len(amounts)


def measure(interpreter, seconds, rate, table):
    target_cpu, our_cpu = soak.two_cpus()
    with TargetProcess("bias.py", interpreter) as target:
        if target_cpu is not None:
            os.sched_setaffinity(target.pid, {target_cpu})
        before = clock(target)
        stacks, finished = profiler.record(target.pid, seconds, "--rate", rate, "--max-overhead", "off", cpu=our_cpu)
        after = clock(target)
    truth = shares([late - early for early, late in zip(before[:3], after[:3])])
    counts, tiny = [0, 0, 0], 0
    for stack, count in stacks.items():
        names = plain_names(stack)
        for slot, name in enumerate(FUNCTIONS):
            counts[slot] += count if name in names else 0
        tiny += count if names[-1:] == ["tiny"] else 0
    seen, samples = shares(counts), sum(counts)
    worst = 0.0
    for slot, name in enumerate(FUNCTIONS):
        error = math.sqrt(truth[slot] * (1 - truth[slot]) / max(1, samples))
        difference = abs(seen[slot] - truth[slot])
        worst = max(worst, difference)
        if difference > BOUND + ERRORS * error:
            table.fail(f"{interpreter}: {name} is {seen[slot]:.4f} of {samples} samples, truly {truth[slot]:.4f}")
    if samples < 100:
        table.fail(f"{interpreter}: {samples} samples")
    table.add(interpreter.version, rate, samples, " ".join(f"{100 * share:.2f}" for share in truth),
              " ".join(f"{100 * share:.2f}" for share in seen), f"{100 * worst:.2f}",
              f"{100 * tiny / max(1, counts[0]):.0f}", str(profiler.rates(finished)))


def main():
    parsed = soak.arguments(__doc__, seconds=(30, 3))
    table = soak.Table("CPython", "rate", "samples", "truth", "seen", "worst", "tiny as leaf %", "quality")
    for interpreter in soak.chosen(parsed, ("3.9", "3.11", "3.13", "3.15")):
        for rate in ("2khz", "20khz") if soak.FULL else ("5khz",):
            measure(interpreter, parsed.seconds, rate, table)
    table.end()


main()

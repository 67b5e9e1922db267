"""Shares of time in a recording against those that the target measured itself: 10, 20 and 70 %, the 10 % in tiny calls.

Several recordings are made. Their spread gives the standard error, which is large on a busy machine. At full length (5
s each) the mean difference must be below 1 % (absolute) beyond two standard errors; the slice (half a second each, much
of which is start-up) allows seven, so that it does not fail by chance. `--rate max` reads without stops; its error is
shown, but not judged.
"""
import json
import math
import os
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import profiler, soak  # noqa: E402
from support.stacks import plain_names  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402

FUNCTIONS = ("ten", "twenty", "seventy")
BOUND, ERRORS, CHUNKS = (0.01, 2, 12) if soak.FULL else (0.01, 7, 8)


def clock(target):
    target.tell("clock")
    return json.loads(target.expect("clock").text.split(" ", 1)[1])


def shares(amounts):
    total = sum(amounts)
    return [amount / total for amount in amounts] if total else [0.0] * len(amounts)


def chunk(target, seconds, rate, cpu):
    """One recording: (true shares, samples per function, samples in tiny(), Finished)."""
    before = clock(target)
    stacks, finished = profiler.record(target.pid, seconds, "--rate", rate, "--max-overhead", "off", cpu=cpu)
    after = clock(target)
    truth = shares([late - early for early, late in zip(before[:3], after[:3])])
    counts, tiny = [0, 0, 0], 0
    for stack, count in stacks.items():
        names = plain_names(stack)
        for slot, name in enumerate(FUNCTIONS):
            counts[slot] += count if name in names else 0
        tiny += count if names[-1:] == ["tiny"] else 0
    return truth, counts, tiny, finished


def measure(interpreter, seconds, rate, table):
    """Measures one rate. Without stops the error has no bound."""
    target_cpu, our_cpu = soak.two_cpus()
    differences, truths, counts, tiny = [[], [], []], [0.0] * 3, [0] * 3, 0
    with TargetProcess("bias.py", interpreter) as target:
        if target_cpu is not None:
            os.sched_setaffinity(target.pid, {target_cpu})
        for _ in range(CHUNKS):
            truth, counted, tiny_now, finished = chunk(target, seconds / CHUNKS, rate, our_cpu)
            for slot, share in enumerate(shares(counted)):
                differences[slot].append(share - truth[slot])
                truths[slot] += truth[slot] / CHUNKS
                counts[slot] += counted[slot]
            tiny += tiny_now
    worst = []
    for slot, name in enumerate(FUNCTIONS):
        mean, error = statistics.mean(differences[slot]), statistics.stdev(differences[slot]) / math.sqrt(CHUNKS)
        worst.append((abs(mean), error))
        if rate != "max" and abs(mean) > BOUND + ERRORS * error:
            table.fail(f"{interpreter}: {name} differs by {100 * mean:.2f} ± {100 * error:.2f} %")
    if sum(counts) < 100:
        table.fail(f"{interpreter}: {sum(counts)} samples")
    mean, error = max(worst)
    table.add(interpreter.version, rate, sum(counts), " ".join(f"{100 * share:.2f}" for share in truths),
              " ".join(f"{100 * share:.2f}" for share in shares(counts)), f"{100 * mean:.2f} ± {100 * error:.2f}",
              f"{100 * tiny / max(1, counts[0]):.0f}", str(profiler.rates(finished)))


def main():
    parsed = soak.arguments(__doc__, seconds=(60.0, 4.0))
    table = soak.Table("CPython", "rate", "samples", "truth", "seen", "worst", "tiny as leaf %", "quality")
    for interpreter in soak.chosen(parsed, ("3.9", "3.14")):
        for rate in ("2khz", "20khz", "max") if soak.FULL else ("5khz", "max"):
            measure(interpreter, parsed.seconds, rate, table)
    table.end()


main()

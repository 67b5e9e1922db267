"""Impossible stacks in samples of targets whose possible stacks are known, taken as fast as possible.

Fails on the first impossible stack that is not marked. The target and we run on different CPUs where there are two.
"""
import collections
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import grammar, profiler, soak  # noqa: E402
from support.target_process import TARGETS, TargetProcess  # noqa: E402

ORACLES = ("oracle_flat.py", "oracle_nested.py", "oracle_shared_leaf.py", "oracle_generators.py", "oracle_exceptions.py",
           "oracle_deep.py", "oracle_code_reuse.py", "oracle_oversized.py", "oracle_async.py", "thread_churn.py",
           "bias.py")
SECONDS = 1
PATIENCE = 40  # recordings; if the machine gives us no CPU, fewer samples are acceptable


def sample(interpreter, script, wanted, options, table):
    target_cpu, our_cpu = soak.two_cpus()
    tally = grammar.Tally(grammar.Grammar(TARGETS / script))
    torn, rounds = 0.0, 0
    with TargetProcess(script, interpreter) as target:
        if target_cpu is not None:
            os.sched_setaffinity(target.pid, {target_cpu})
        while tally.total < wanted and rounds < PATIENCE:
            stacks, finished = profiler.record(target.pid, SECONDS, *options,
                                               cpu=our_cpu)
            for stack, count in stacks.items():
                tally.add(stack, count)
            torn += profiler.rates(finished).get("torn", 0.0) * sum(stacks.values()) / 100
            rounds += 1
    if tally.impossible and "max" not in options:  # without stops two reads can err in the same way: only shown
        table.fail(f"{interpreter}, {script}, {' '.join(options)}: {tally}")
    if tally.total == 0:
        table.fail(f"{interpreter}, {script}: no sample at all")
    return tally, torn


def main():
    parsed = soak.arguments(__doc__, count=(1_000_000, 30_000))
    chosen = soak.chosen(parsed, ("3.8", "3.11", "3.13", "3.15"))
    table = soak.Table("CPython", "target", "options", "samples", "impossible", "truncated %", "torn %")
    totals = collections.Counter()
    for interpreter in chosen:
        for script in ORACLES:
            for options in (("--rate", "5khz"), ("--rate", "max")):
                tally, torn = sample(interpreter, script, parsed.count // len(ORACLES) // 2, options, table)
                totals.update(samples=tally.total, impossible=tally.impossible)
                base = max(1, tally.total)
                table.add(interpreter.version, script, " ".join(options), tally.total, tally.impossible,
                          f"{100 * tally.truncated / base:.3f}", f"{100 * torn / base:.3f}")
    table.add("all", "", "", totals["samples"], totals["impossible"], "", "")
    table.end()


main()

"""Attaches, traces every call and detaches, again and again, on targets of every kind: 10,000 times at full length.

No target dies or stalls; each ends with the output of a target that was never traced; memory, files, tool ids and
profile functions are as before.
"""
import collections
import contextlib
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import interpreters, soak  # noqa: E402
from support.trace_cycles import MODES, TRAINING, Cycles, trainers  # noqa: E402

COUNTED = ("events", "unmatched", "starved")
MINORS = interpreters.TELLING


def kinds(parsed):
    """(interpreter, mode) of all possible targets."""
    modes = parsed.modes.split(",") if parsed.modes else (*MODES, TRAINING)
    found = [(interpreter, mode) for interpreter in soak.chosen(parsed, MINORS) if interpreter.release in MINORS
             for mode in MODES if mode in modes]
    return found + [(one, TRAINING) for one in trainers()
                    if TRAINING in modes and (not parsed.python or one.minor in parsed.python.split(","))]


def run(interpreter, mode, count, deadline, parsed, table, totals):
    with contextlib.closing(Cycles(interpreter, mode)) as cycles:
        grown = 0
        try:
            while cycles.done < count and time.monotonic() < deadline:
                cycles.once(parsed.random)
            grown = cycles.end()
        except (AssertionError, OSError, subprocess.TimeoutExpired) as failure:  # it died, or hangs
            cycles.wrong.append(f"after {cycles.done} traces: {failure}; {cycles.target.stderr()[-500:]}")
        for what in cycles.wrong:
            table.fail(f"{interpreter}, {mode}: {what}")
        total = totals[str(interpreter), mode]
        total["cycles"] += cycles.done
        total["events"] += cycles.events
        total["unmatched"] += cycles.unmatched
        total["starved"] += cycles.starved
        total["slowest"] = max(total["slowest"], round(1000 * cycles.slowest))
        total["grown"] = max(total["grown"], grown)
        return cycles.done


def main():
    parsed = soak.arguments(__doc__, count=(10000, 24), each=(50, 4), minutes=(600.0, 5.0), modes=("", ""))
    deadline = time.monotonic() + 60 * parsed.minutes
    table = soak.Table("interpreter", "target", "cycles", "events", "unmatched ends", "starved",
                       "slowest answer, ms", "memory, KiB more")
    totals = collections.defaultdict(collections.Counter)
    waiting, done, begun = [], 0, time.monotonic()
    while done < parsed.count and time.monotonic() < deadline:
        if not waiting:
            waiting = kinds(parsed)
            parsed.random.shuffle(waiting)
        interpreter, mode = waiting.pop()
        done += run(interpreter, mode, min(parsed.each, parsed.count - done), deadline, parsed, table, totals)
        if soak.FULL:
            print(f"{done} cycles in {time.monotonic() - begun:.0f} s, {len(table.failures)} failures", flush=True)
    if soak.FULL and done < parsed.count:
        table.fail(f"only {done} of {parsed.count} cycles in {parsed.minutes:g} minutes")
    for (interpreter, mode), total in sorted(totals.items()):
        table.add(interpreter, mode, *(total[key] for key in ("cycles", *COUNTED, "slowest", "grown")))
    table.add("all", "", done, *(sum(total[key] for total in totals.values()) for key in COUNTED),
              max(total["slowest"] for total in totals.values()), max(total["grown"] for total in totals.values()))
    unmatched, starved = (sum(total[key] for total in totals.values()) for key in ("unmatched", "starved"))
    if unmatched or starved > done / 50:
        table.fail(f"{unmatched} unmatched ends; {starved} traces in which the target made no call")
    trained = {one.minor for one in trainers()}
    print("no PyTorch, so training was not traced on CPython", ", ".join(sorted(set(MINORS) - trained)) or "(none)")
    table.end()


main()

#!/usr/bin/env python3
"""Run by hand: the cost of an event for a traced target, per version, in pairs with the same work untraced and under
cProfile.

    bench/stub_figures.py [3.12 …]        after ./dev build release pp_stub stub_layout

ns: added time per event of ours (cProfile's time is divided by the same events). x: slowdown of the work. Nothing
drains the ring meanwhile. The loop makes no calls: its slowdown is the cost for every instruction (3.10, 3.11).
"""
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
from parts import machine  # noqa: E402
from support import interpreters, stub  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402


def row(interpreter):
    with TargetProcess("stub_figures.py", interpreter, env=stub.environment()) as target:
        stub.tell_layout(target)
        found = json.loads(target.expect("figures").text.split(" ", 1)[1])
    cells = [str(interpreter).split(" /")[0]]
    for work in ("fib", "mixed"):
        for kind in ("frames", "frames and C", "cProfile"):
            nanoseconds, slowdown = found[work][kind]
            cells.append(f"{nanoseconds:g} (x{slowdown:g})")
    cells.append("x{:g}".format(found["loop"]["frames"][1]))
    return cells


def main(minors):
    for name, value in machine.facts(ROOT):
        print(f"{name}: {value}")
    print("load: {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))
    print("| CPython | fib: ns per event | fib with C | fib cProfile | mixed | mixed with C | mixed cProfile | loop |")
    print("|---|---|---|---|---|---|---|---|")
    for minor in minors:
        for interpreter in interpreters.of_minor(minor):
            print("| " + " | ".join(row(interpreter)) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or interpreters.MINORS)

#!/usr/bin/env python3
"""Run by hand: measures the cost of a launch on the double of CUDA, 40 frames deep: with records alone, with a callback
that takes no stack, and with a callback that takes one.

    bench/gpu_launch_figures.py [3.12 …]        after ./dev build release gpu_driver cuda_double

Nanoseconds per launch, the least of many rounds; the last two columns are the difference to the first. The time that a
real CUPTI takes for a callback is not included.
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
from parts import machine  # noqa: E402
from support import interpreters  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402

DRIVER = os.environ.get("PP_GPU_DRIVER", str(ROOT / "build/bin/tests/gpu_driver"))
DOUBLES = os.environ.get("PP_CUDA_DOUBLES", str(ROOT / "build/bin/tests/cuda"))
LAUNCHES, ROUNDS = 5000, 60
WAYS = (("records", ()), ("refused", ("--launch-rate", "1")), ("taken", ("--launch-rate", "all")))


def cost(interpreter, options):
    with TargetProcess("cuda_launch_cost.py", interpreter, ["--depth", 40], env={"PP_CUDA_DOUBLES": DOUBLES}) as target:
        driver = subprocess.Popen([DRIVER, "--wait", *options, str(target.pid)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        assert "recording" in driver.stdout.readline()
        best = None
        for _ in range(ROUNDS):
            target.tell(f"measure {LAUNCHES}")
            took = int(target.expect("took").text.split()[1]) / LAUNCHES
            best = took if best is None else min(best, took)
        driver.communicate("")
        target.finish()
        return best


def main(minors):
    for name, value in machine.facts(ROOT):
        print(f"{name}: {value}")
    print("load: {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))
    print("| CPython | launch, ns | callback without a stack | with one of 40 frames |\n|---|---|---|---|")
    for minor in minors:
        interpreter = next((one for one in interpreters.of_minor(minor) if not one.in_root), None)
        if interpreter:
            base, refused, taken = (cost(interpreter, options) for _, options in WAYS)
            print(f"| {minor} | {base:.0f} | +{refused - base:.0f} | +{taken - base:.0f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or interpreters.MINORS)

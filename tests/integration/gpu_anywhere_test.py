#!/usr/bin/env python3
"""`record --gpu` of a job that knows only its own calls (tests/targets/cuda_on_gpu.py). The test is the same on the
doubles of CUDA and, by tests/gpu/on_a_gpu.py, on a GPU. Every launch of the job is in the trace once, under the
function that made it.
"""
import bisect
import collections
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, gpu_case, real_cuda  # noqa: E402

RUNTIME = next(pathlib.Path(gpu_case.DOUBLES, real_cuda.USUAL, "site-packages/nvidia").glob("*/lib/libcudart.so.*"), None)
CUPTI = next(pathlib.Path(gpu_case.DOUBLES, real_cuda.USUAL, "site-packages/nvidia").glob("*/lib/libcupti.so.*"), None)
HERE = {} if real_cuda.IS_REAL else {"PP_CUDA_RUNTIME": str(RUNTIME), "PP_CUPTI_LIBRARY": str(CUPTI)}
SLACK = 100_000  # ns, between the clocks of CUPTI and of the job


class Truth:
    """The job's calls by thread, which can be found by their time."""

    def __init__(self, operations):
        self.of_thread = collections.defaultdict(list)
        for one in operations:
            self.of_thread[one["tid"]].append(one)
        for calls in self.of_thread.values():
            calls.sort(key=lambda call: call["begin"])

    def call_at(self, tid, when):
        """(place, call) of the last call that began before `when`; None: no call was still going on at that time."""
        calls = self.of_thread.get(tid, [])
        place = bisect.bisect_right(calls, when + SLACK, key=lambda call: call["begin"]) - 1
        while place > 0 and calls[place]["begin"] > when and calls[place - 1]["end"] >= when:
            place -= 1
        return (place, calls[place]) if place >= 0 and when <= calls[place]["end"] + SLACK else None


class Anywhere(gpu_case.GpuCase):
    def recorded(self, *options):
        target = self.job("--triton", env=HERE)
        self.record(target, *options)
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0, target.stderr())
        self.assertEqual(self.totals["state"], "recording", self.totals)
        return Truth(json.loads(self.truth_file.read_text())["operations"])

    def assertWhole(self, truth):
        """What each call of the job started, by the call's place."""
        seen = collections.defaultdict(list)
        for one in self.operations:
            if one["kind"] not in ("kernel", "memcpy", "memset") or not one["launched"]:
                continue
            found = truth.call_at(one["tid"], one["launched"])
            self.assertIsNotNone(found, one)
            seen[one["tid"], found[0]].append((one, found[1]))
        launched = [one["launched"] for one in self.operations if one["kind"] == "kernel" and one["launched"]]
        begin, end = min(launched) + gpu_case.EDGE, max(launched) - gpu_case.EDGE
        within = [(tid, place) for tid, calls in truth.of_thread.items() for place, call in enumerate(calls)
                  if begin < call["begin"] and call["end"] < end]
        self.assertGreater(len(within), 200)
        self.assertEqual([key for key in within if key not in seen], [], "calls of the job of which nothing is there")
        for key in within:
            # 13.0 reports a graph's memset as a kernel of that name.
            kernels = [one["name"] for one, _ in seen[key] if one["kind"] == "kernel" and one["name"] != "memset32"]
            self.assertEqual(collections.Counter(kernels), collections.Counter(seen[key][0][1]["names"]), seen[key])
        return [pair for pairs in seen.values() for pair in pairs]

    def test_every_launch_is_there_under_the_function_that_made_it(self):
        truth = self.recorded("--mode", "trace")
        wrong = collections.Counter()
        for one, call in self.assertWhole(truth):
            names = [name.split(".")[-1] for name in one["stack"]]
            wrong[call["python"]] += call["python"] not in names and call["python"] != "_engine_run_backward"
        self.assertEqual(+wrong, collections.Counter(), "under another function")
        self.assertAddsUp()
        self.assertEqual({what: self.totals[what] for what in ("dropped", "invalid", "unseen", "clock_steps", "unknown")},
                         dict.fromkeys(("dropped", "invalid", "unseen", "clock_steps", "unknown"), 0))

    def test_samples_beside_it(self):
        truth = self.recorded()
        self.assertWhole(truth)
        self.assertAddsUp()


if __name__ == "__main__":
    if not real_cuda.IS_REAL and not (RUNTIME and CUPTI):
        sys.exit(f"no doubles under {gpu_case.DOUBLES}: build the target cuda_double")
    case.main()

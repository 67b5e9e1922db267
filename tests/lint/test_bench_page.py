#!/usr/bin/env python3
"""The page of the benchmarks: a part that is measured anew is replaced, all others stay as they were."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests")]

import run  # noqa: E402
from parts import goals, page, report, trace_goals, trace_report  # noqa: E402
from parts.goal import Goal  # noqa: E402
from parts.gpu_doubles import GpuDoubles  # noqa: E402
from parts.gpu_records import GpuRecords  # noqa: E402
from parts.trace import Tracing  # noqa: E402
from parts.trace_events import Cost  # noqa: E402
from parts.trace_injection import Entry  # noqa: E402
from parts.trace_stream import Leaving, Whole  # noqa: E402


def part(tree, figure):
    return page.Part([["date", "today"], ["tree", tree], ["kernel", "Linux"]], [Goal("fast", "≤ 1", figure, "met")],
                     [f"It took {figure}.", ""], [f"A note on {tree}."])


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "benchmarks.md")
        self.keep = run.keeper(self.path)

    def test_other_parts_stay(self):
        self.keep("service", part("aaaa", "0.5 ms"))
        self.keep("trace", part("bbbb", "7 ns"))
        self.keep("service", part("cccc", "0.4 ms"))
        text = self.path.read_text()
        for there in ("It took 7 ns.", "It took 0.4 ms.", "A note on bbbb.", "A note on cccc.", "Promises: 2 of 2 met"):
            self.assertIn(there, text)
        self.assertNotIn("0.5 ms", text)
        self.assertNotIn("aaaa", text)
        self.assertLess(text.index("## Exact tracing"), text.index("## The service"))

    def test_the_page_in_the_tree_is_rendered(self):
        kept = page.load(ROOT / "docs/benchmarks.json")
        self.assertEqual(page.render(kept), (ROOT / "docs/benchmarks.md").read_text())


def cost(work, minor, added, idle=1.0, excluded=1.0, **times):
    return Cost(f"{minor}.1 (pyenv)", minor, work, 1000, 1000,
                {"untraced": [1e6], "apart": [1e6], "ours": [1e6 + added], "ours with C": [1e6 + 2 * added], **times},
                {"before": [1.0, 1.2], "idle": [1.1 * idle], "excluded": [1.1 * idle * excluded]})


class GpuRecordsPart(unittest.TestCase):
    def test_is_judged_and_shown(self):
        for rate, verdict in ((1.9e6, "missed"), (2e6, "met")):
            results = run.Results(1000, gpu=[GpuRecords([5e7, 6e7], [rate, rate], 80.0)])
            self.assertFalse(results.is_empty())
            goal, = goals.judge("gpu", results)
            self.assertEqual((goal.bound, goal.verdict), ("≥ 2 M", verdict))
            self.assertIn("55.00 (50.00 to 60.00)", "\n".join(report.lines("gpu", results)))
        self.assertEqual(goals.judge("gpu", run.Results(1000)), [])


class GpuDoublesPart(unittest.TestCase):
    def test_nothing_is_claimed_of_a_gpu(self):
        for first, nanoseconds, verdicts in ((250.0, 400, ["no claim"] * 3), (2500.0, 600, ["missed"] * 3)):
            results = run.Results(1000, doubles=[GpuDoubles("3.11", [first] * 50, 1, [nanoseconds], [nanoseconds])])
            self.assertFalse(results.is_empty())
            found = goals.judge("doubles", results)
            self.assertEqual([goal.verdict for goal in found], verdicts)
            self.assertTrue(all("on a double" in goal.measured for goal in found))
            text = "\n".join(report.lines("doubles", results))
            for there in (f"{first:.2f} ms", f"{nanoseconds / 1000:.2f} us", "no kernel came: 1"):
                self.assertIn(there, text)


class ExactTracing(unittest.TestCase):
    def judged(self, found):
        return {goal.what: goal for goal in trace_goals.judge(found) + trace_goals.judge_ways(found)}

    def test_nothing_measured_is_no_claim(self):
        self.assertEqual({goal.verdict for goal in self.judged(Tracing()).values()}, {"no claim"})

    def test_the_worst_counts(self):
        costs = [cost("fib", "3.12", 15_000, cProfile=[1e6 + 45_000]), cost("methods", "3.14", 21_000, cProfile=[1e6 + 42_000])]
        goals = self.judged(Tracing(costs=costs))
        python = goals["an event of a Python function, 3.12 and later, the worst"]
        self.assertEqual((python.verdict, python.measured), ("missed", "21.0 ns (CPython 3.14.1 (pyenv), methods)"))
        self.assertEqual(goals["time added by cProfile / by us, 3.12 and later, the worst"].measured,
                         "2.0x (CPython 3.14.1 (pyenv), methods)")

    def test_an_idle_stub_is_judged_by_interpreter_and_excluded_code_by_the_worst(self):
        costs = [cost("fib", "3.12", 9000), cost("methods", "3.12", 9000), cost("fib", "3.14", 9000, idle=1.01),
                 cost("methods", "3.14", 9000, excluded=1.03)]
        goals = self.judged(Tracing(costs=costs))
        for minor, verdict in (("3.12", "met"), ("3.14", "met")):
            self.assertEqual(goals[f"work beside a stub that is there and idle, median of all, {minor}.1 (pyenv)"].verdict, verdict)
        slow = self.judged(Tracing(costs=[cost("fib", "3.14", 9000, idle=0.98)]))
        self.assertEqual(slow["work beside a stub that is there and idle, median of all, 3.14.1 (pyenv)"].verdict, "missed")
        excluded = goals["filtered code, 3.12 and later, the worst"]
        self.assertEqual((excluded.verdict, excluded.measured), ("missed", "1.03x (CPython 3.14.1 (pyenv), methods)"))

    def test_everything_has_its_table(self):
        found = Tracing(costs=[cost("fib", "3.8", 9000), cost("c_calls", "3.12", 9000), cost("loop", "3.11", 9000)],
                        training=[cost("train", "3.14", 9000, torch=[3e6])], whole=[Whole("3.14", 10, 0, 1.0, 1.5, 100, 0.5)],
                        entries=[Entry("3.8", "3.8", "busy", [900], [800], [70])], leaving=[Leaving("3.8", [40.0, 50.0])],
                        replay={"Replay, fib": (3e7, None)}, versions={"viztracer": {"1.0"}}, notes=["So it is."])
        text = "\n".join(trace_report.lines(found) + trace_report.lines_of_ways(found))
        for there in ("9.0 (1.01x)", "training step", "0.90 / 0.90 ms of 1", "45 (40 to 50) us", "30.0 M", "viztracer 1.0",
                      "- So it is."):
            self.assertIn(there, text)


if __name__ == "__main__":
    unittest.main()

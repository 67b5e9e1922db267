"""Operators of PyTorch, recorded from outside: each of them is compared with what PyTorch's own profiler lists.

Needs an interpreter with PyTorch: Debian's 3.11, and that of the root `forky`.
"""
import collections
import glob
import json
import os
import pathlib
import random
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler, soak  # noqa: E402

PACKAGES = "usr/lib/python3/dist-packages"
STEPS = 10
CYCLES = 1000 if soak.FULL else 6
SEED = 20261128
# The counts of ten steps, on every version: from PyTorch's own profiler.
WITH_SEQUENCE, WITH_FORWARD, ARROWS = 1050, 600, 300
ALWAYS = {"aten::mm": 190, "aten::addmm": 100, "aten::linear": 100, "aten::t": 490, "aten::relu": 40,
          "aten::addcdiv_": 200, "AddmmBackward0": 100}
MATRICES = {"[[64, 64], [64, 256]]": 80, "[[64, 256], [256, 64]]": 40, "[[256, 64], [64, 64]]": 40,
            "[[64, 10], [10, 64]]": 10, "[[10, 64], [64, 64]]": 10, "[[64, 64], [64, 32]]": 10}
# From torch.profiler with with_flops.
FLOPS = {"aten::mm": 339804160, "aten::addmm": 171212800}
RANGES = {"Optimizer.step#Adam.step": 10, "Optimizer.zero_grad#Adam.zero_grad": 10}


class Trace:
    """A recording in Kineto's JSON."""

    def __init__(self, path, said):
        exported = path.with_suffix(".json")
        profiler.must("export", path, "--format", "chrome", "-o", exported)
        self.path = path
        self.said = said
        self.text = profiler.must("export", path, "--format", "text", "-o", "-").output
        self.events = json.loads(exported.read_text())["traceEvents"]
        exported.unlink()
        both = sorted((one for one in self.events if one.get("cat") in ("cpu_op", "user_annotation")
                       and not one["name"].startswith("ProfilerStep#")),
                      key=lambda one: one["args"]["Record function id"])
        self.names = [one["name"] for one in both]  # in the order in which they began
        self.dims = [one["args"].get("Input Dims", []) for one in both]
        self.operators = [one for one in both if one["cat"] == "cpu_op"]
        self.ranges = collections.Counter(one["name"] for one in both if one["cat"] == "user_annotation")
        self.counts = collections.Counter(one["name"] for one in self.operators)
        self.unfinished = [one["name"] for one in both if "finished" in one["args"]]

    @property
    def table(self):
        return {row["name"]: row for row in self.rows()}

    @property
    def by_shape(self):
        return self.rows("--group-by", "shape")

    def rows(self, *options):
        return json.loads(profiler.must("table", self.path, "--format", "json", "--row-limit", 0, *options).output)["rows"]

    def arrows(self):
        return collections.Counter(one["ph"] for one in self.events if one.get("cat") == "fwdbwd")

    def threads(self, name):
        return collections.Counter(one["tid"] for one in self.operators if one["name"] == name)


class TorchCase(case.Case):
    def setUp(self):
        having = [one for one in self.interpreters if one.path.startswith("/usr/bin/") and
                  glob.glob(f"{one.root}/{PACKAGES}/torch/_C.cpython-{one.minor.replace('.', '')}-*.so")]
        if not having:
            self.skipTest(f"no PyTorch for CPython {self.minor} here")
        self.root = having[0].root
        self.target = self.start("torch_mlp.py", interpreter=having[0])

    def ask(self, *words):
        self.target.tell(" ".join(str(word) for word in words))
        return self.target.expect("done").text.split(" ", 1)[1]

    def recording(self, *options):
        recording = profiler.Recording(self.target.pid, *options)
        self.addCleanup(recording.remove)
        recording.begun()  # every source is armed then
        return recording

    def end(self, recording):
        recording.interrupt()
        finished = recording.wait()
        self.assertEqual(finished.status, 0, finished)
        return Trace(recording.trace, finished.errors)

    def record(self, *words, options=("--mode", "trace")):
        """What was recorded while the target did what it was asked."""
        recording = self.recording(*options)
        self.ask(*words)
        return self.end(recording)

    def reference(self, steps):
        """From the target's own profiler: what ran, in the order in which it began. That of 1.13 misses an operator in
        one run of twelve, so the longer of two lists counts."""
        return max((self.listed(steps) for _ in range(2)), key=len)

    def listed(self, steps):
        path = f"/tmp/pp-torch-{self.target.pid}.json"
        self.ask("profiled", steps, path)
        outside = pathlib.Path(self.root + path)
        listed = json.loads(outside.read_text())
        outside.unlink()
        return [(name, shapes) for name, shapes in listed]

    def assertIsTheReference(self, trace, listed, with_shapes=False):
        names = [name for name, _ in listed]
        self.assertEqual(collections.Counter(trace.names), collections.Counter(names))
        self.assertEqual(trace.names, names)  # event by event
        if with_shapes:
            self.assertEqual([(name, dims) for name, dims in zip(trace.names, trace.dims) if dims or name in ALWAYS],
                             [(name, dims) for name, dims in listed if dims or name in ALWAYS])

    def assertHasTheNumbers(self, trace):
        self.assertEqual({name: trace.counts[name] for name in ALWAYS}, ALWAYS)
        self.assertEqual(trace.ranges, RANGES)
        self.assertEqual(sum("Sequence number" in one["args"] for one in trace.operators), WITH_SEQUENCE)
        self.assertEqual(sum(one["args"].get("Fwd thread id", 0) > 0 for one in trace.operators), WITH_FORWARD)
        self.assertEqual(trace.arrows(), {"s": ARROWS, "f": ARROWS})
        self.assertEqual(trace.unfinished, [])
        self.assertIn(f"  {len(trace.names):,} operators of PyTorch\n", trace.said)

    def assertFinishes(self):
        self.assertUnharmed(self.target.pid)
        self.target.tell("finish")
        self.assertEqual((self.target.wait(), self.target.stdout()), (0, "ended well\n"))


class Operators(TorchCase):
    def test_each_operator_of_ten_steps(self):
        names = self.reference(STEPS)
        for options in (("--mode", "trace"), ("--torch", "on")):  # with calls, and with samples
            with self.subTest(options):
                trace = self.record("steps", STEPS, options=options)
                self.assertHasTheNumbers(trace)
                self.assertIsTheReference(trace, names)
        self.assertRegex(trace.text, r"(?m)^Operators of PyTorch$")
        self.assertRegex(trace.text, r"(?m)^ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +190  aten::mm$")
        off = self.record("steps", 1, options=("--mode", "trace", "--torch", "off"))
        self.assertEqual((off.names, "operators" in off.said), ([], False))
        self.assertFinishes()

    def test_what_each_operator_gets(self):
        listed = self.reference(STEPS)
        trace = self.record("steps", STEPS, options=("--record-shapes",))
        self.assertHasTheNumbers(trace)
        self.assertIsTheReference(trace, listed, with_shapes=True)
        sizes = collections.Counter(str(dims) for name, dims in zip(trace.names, trace.dims) if name == "aten::mm")
        self.assertEqual(sizes, MATRICES)
        self.assertEqual({name: trace.table[name]["flops"] for name in FLOPS}, FLOPS)
        self.assertEqual(trace.table["aten::add"]["flops"], 64 * 64 * trace.counts["aten::add"])
        self.assertEqual({name: trace.table[name]["count"] for name in ALWAYS}, ALWAYS)
        rows = [row for row in trace.by_shape if row["name"] == "aten::mm"]
        self.assertEqual({row["input_shapes"]: row["count"] for row in rows}, MATRICES)
        self.assertEqual(sum(row["flops"] for row in rows), FLOPS["aten::mm"])
        for one in trace.operators:
            if one["name"] == "aten::sum":
                self.assertEqual((one["args"]["Input type"][1:3], one["args"]["Concrete Inputs"][1:3]),
                                 (["ScalarList", "Scalar"], ["[0]", "True"]))
                self.assertEqual(one["args"]["Input Strides"][0], [one["args"]["Input Dims"][0][1], 1])
        self.assertFinishes()

    def test_beside_the_jobs_own_profiler(self):
        alone = self.reference(STEPS)
        recording = self.recording("--mode", "trace")
        beside = self.listed(STEPS)
        trace = self.end(recording)
        self.assertLessEqual(len(alone) - len(beside), 3 if self.minor == "3.11" else 0)  # as above
        self.assertEqual(collections.Counter(name for name, _ in beside) - collections.Counter(name for name, _ in alone),
                         collections.Counter())
        self.assertHasTheNumbers(trace)
        self.assertIsTheReference(trace, alone)
        self.assertFinishes()

    def test_all_threads(self):
        names = collections.Counter(name for name, _ in self.reference(STEPS))
        trace = self.record("threads", STEPS, 3)
        self.assertEqual(sorted(trace.threads("aten::mm").values()), 3 * [ALWAYS["aten::mm"]])
        counts = collections.Counter(trace.names)
        # The first step makes the optimizer's state, so some operators run more often.
        self.assertEqual({name for name in names if counts[name] < 3 * names[name]}, set())
        self.assertEqual({name: counts[name] for name in ALWAYS}, {name: 3 * count for name, count in ALWAYS.items()})
        self.assertFinishes()

    def test_children_write_nothing(self):
        recording = self.recording("--mode", "trace")
        self.assertEqual(self.ask("forked", STEPS), "0")
        self.ask("steps", STEPS)
        trace = self.end(recording)
        self.assertHasTheNumbers(trace)
        self.assertFinishes()

    def test_results_are_the_same_and_the_hook_leaves(self):
        other = self.start("torch_mlp.py", interpreter=self.target.interpreter)
        other.tell(f"steps {STEPS}")
        other.expect("done")
        other.tell("result")
        expected = other.expect("done").text.split(" ", 1)[1]
        self.record("steps", STEPS, options=("--torch", "on"))
        self.assertEqual(self.ask("result"), expected)
        self.assertNotIn("ptrace-prof-ops", "".join(
            os.readlink(path) for path in glob.glob(f"/proc/{self.target.pid}/fd/*")))
        self.assertFinishes()


class Killed(TorchCase):
    def test_coming_and_going_under_load(self):
        """Some recorders are killed. The job goes on, and is recorded again."""
        moments = random.Random(SEED)
        self.target.tell("threads 100000 4")
        for cycle in range(CYCLES):
            recording = profiler.Recording(self.target.pid, "--torch", "on", "--duration", "10s")
            self.addCleanup(recording.remove)
            if cycle % 2:
                recording.begun()
            time.sleep(moments.uniform(0, 0.3))
            if cycle % 3 == 2:
                recording.process.kill()
            else:
                recording.interrupt()
            recording.wait()
            self.assertUnharmed(self.target.pid)
        last = profiler.Recording(self.target.pid, "--torch", "on", "--duration", "1s")
        self.addCleanup(last.remove)
        finished = last.wait()
        self.assertEqual(finished.status, 0, finished)
        self.assertRegex(finished.errors, r"[\d,]{5,} operators of PyTorch")
        self.assertUnharmed(self.target.pid)


class Refused(case.Case):
    def test_without_pytorch(self):
        target = self.start("longsleep.py")
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "out.pftrace")
            finished = profiler.must("record", "--pid", target.pid, "--torch", "on", "--duration", "200ms", "-o", trace)
            table = profiler.run("table", trace)
        self.assertNotEqual(table.status, 0)
        self.assertIn("error: the trace has no operators of PyTorch", table.errors)
        self.assertIn("note: PyTorch's operators are not recorded: process "
                      f"{target.pid} has not loaded PyTorch (libtorch_cpu.so)", finished.errors)
        self.assertRegex(finished.errors, r"(?m)^\d+ samples in ")


if __name__ == "__main__":
    case.main()

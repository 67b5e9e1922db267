"""Operators of PyTorch, recorded from outside: each of them is compared with what PyTorch's own profiler lists."""
import collections
import glob
import os
import pathlib
import random
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler, rings, soak  # noqa: E402
from support.torch_job import ALWAYS, FLOPS, MATRICES, STEPS, TorchCase  # noqa: E402

CYCLES = 10_000 if soak.FULL else 6
ROWS = 500 if soak.FULL else 4
SEED = 20261128
# What PyTorch's own profiler says in its JSON of a recording with record_shapes and with_flops.
FLAGS = {"schemaVersion": 1, "displayTimeUnit": "ms", "record_shapes": 1, "with_flops": 1, "with_stack": None, "run": "base line"}


class Operators(TorchCase):
    shares = True

    def test_each_operator_of_ten_steps(self):
        names = self.reference(STEPS)
        for options in (("--mode", "trace"), ("--torch", "on")):  # with calls, and with samples
            with self.subTest(options):
                trace = self.record("steps", STEPS, options=options)
                self.assertHasTheNumbers(trace)
                self.assertIsTheReference(trace, names)
        self.assertRegex(trace.text, r"(?m)^Operators of PyTorch$")
        self.assertRegex(trace.text, r"(?m)^ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +190  aten::mm$")
        self.assertHasItsPlace(trace)
        off = self.record("steps", 1, options=("--mode", "trace", "--torch", "off"))
        self.assertEqual((off.names, "operators" in off.said), ([], False))
        self.assertFinishes()

    def assertHasItsPlace(self, samples):
        calls = self.record("steps", STEPS, options=("--mode", "trace"))
        modules = collections.Counter()
        for row in calls.rows("--group-by", "module"):
            if row["name"] in ("aten::addmm", "aten::mm"):
                modules[row["name"], re.sub(r".*\((.*)\)", r"\1", row["module"])] += row["count"]
        for layer in ("inp", "head", *(f"layers.{number}.{part}" for number in range(4) for part in ("fc1", "fc2"))):
            # The first one needs no gradient of its input.
            self.assertEqual((modules["aten::addmm", layer], modules["aten::mm", f"{layer}, backward"]),
                             (STEPS, STEPS if layer == "inp" else 2 * STEPS), layer)
        stacks = {row["stack"]: row["count"] for row in calls.rows("--group-by", "stack:1") if row["name"] == "aten::addmm"}
        (frame, count), = stacks.items()
        self.assertRegex(frame, r"^torch/nn/modules/linear\.py\(\d+\): Linear\.forward$")
        self.assertEqual(count, ALWAYS["aten::addmm"])
        overloads = {row["overload"] for row in calls.rows("--group-by", "overload") if row["name"] == "aten::add_"}
        self.assertLessEqual({"Tensor"}, overloads)
        self.assertEqual(sum(row["count"] for row in samples.rows("--group-by", "stack:1")),
                         sum(row["count"] for row in samples.rows()))
        refused = profiler.run("table", samples.path, "--group-by", "module")
        self.assertIn("error: the trace does not say which nn.Module is called", refused.errors)

    def test_what_each_operator_gets(self):
        listed = self.reference(STEPS)
        trace = self.record("steps", STEPS, options=("--record-shapes", "--meta", "run=base line"))
        cost = re.search(r"cost of their recording in the process: at least (\d+) ns per operator, [\d.]+ % of one core", trace.said)
        self.assertLess(10, int(cost[1]))
        self.assertLess(int(cost[1]), 10000)
        self.assertEqual({name: trace.document.get(name) for name in FLAGS}, FLAGS)
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
        self.assertLessEqual(len(alone) - len(beside), 0 if self.torch >= (2,) else 3)  # as above
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

    def test_ranges_that_end_on_another_thread(self):
        for options in (("--torch", "on"), ("--profile-memory",)):
            trace = self.record("crossing", STEPS, options=options)
            self.assertEqual((trace.ranges["crossing"], trace.unfinished), (STEPS, []))
            ranges, inside = (sorted((one for one in trace.events if (one["name"], one.get("cat")) == what),
                                     key=lambda one: one["ts"])
                              for what in (("crossing", "user_annotation"), ("aten::ones", "cpu_op")))
            self.assertEqual({one["tid"] for one in ranges}, {one["tid"] for one in inside})
            for one, other in zip(ranges, inside):
                self.assertLess(one["ts"] + 0.001, other["ts"])
                self.assertGreater(one["ts"] + one["dur"], other["ts"] + other["dur"])
            self.assertEqual(trace.table["crossing"]["count"], STEPS)
        self.assertFinishes()

    def test_children_write_nothing(self):
        recording = self.recording("--mode", "trace")
        self.assertEqual(self.ask("forked", STEPS), "0")
        self.ask("steps", STEPS)
        trace = self.end(recording)
        self.assertHasTheNumbers(trace)
        self.assertFinishes()

    def test_results_are_the_same_and_the_hook_leaves(self):
        results = []
        for options in (None, ("--torch", "on"), ("--mode", "trace", "--record-shapes", "--profile-memory")):
            self.ask("again")
            if options is None:
                self.ask("steps", STEPS)
            else:
                self.record("steps", STEPS, options=options)
            results.append(self.ask("result"))
        self.assertEqual(results, 3 * results[:1])
        self.assertNotIn("ptrace-prof-ops", "".join(
            os.readlink(path) for path in glob.glob(f"/proc/{self.target.pid}/fd/*")))
        self.assertFinishes()


class Killed(TorchCase):
    def test_coming_and_going_under_load(self):
        """Some recorders are killed. The job goes on, and is recorded again."""
        moments = random.Random(SEED)
        self.target.tell("threads 100000 4")
        for cycle in range(CYCLES):
            memory = ["--profile-memory"] if cycle % 4 < 2 else []
            recording = profiler.Recording(self.target.pid, "--torch", "on", "--duration", "10s", *memory)
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


class Misled(TorchCase):
    """A hook that is fed wrong places of all fields harms nothing: all rows of all versions, and nonsense."""
    def test_no_row_harms_the_job(self):
        before = self.ask("result")
        moments = random.Random(SEED)
        nonsense = [[moments.randrange(2)] + [8 * moments.randrange(40) for _ in range(6)] for _ in range(ROWS)]
        known = [[old, index, sequence, sequence + 8, forward, handle, handle + 8]
                 for old in (0, 1) for index, sequence in ((192, 200), (168, 176))
                 for forward, handle in ((248, 256), (224, 232), (280, 288), (304, 312))]
        for row in known + nonsense:
            with self.subTest(row):
                recording = profiler.Recording(self.target.pid, "--torch", "on", "--record-shapes", "--profile-memory",
                                               "--duration", "10s")
                self.addCleanup(recording.remove)
                recording.begun()
                rings.set_torch_row(self.target.pid, row)  # it runs nothing until then
                self.ask("steps", 3)
                recording.interrupt()
                self.assertEqual(recording.wait().status, 0)
                self.assertUnharmed(self.target.pid)
        # It computes what it would have computed.
        steps = 3 * len(known + nonsense)
        after = self.ask("result")
        self.ask("again")
        self.ask("steps", 3)  # as it did before it was ready
        self.assertEqual(self.ask("result"), before)
        self.ask("steps", steps)
        self.assertEqual(self.ask("result"), after)
        self.assertFinishes()


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

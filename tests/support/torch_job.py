"""A job with PyTorch, and what was recorded of it. Needs an interpreter with PyTorch: Debian's 3.11, that of the root
`forky`, or one of a virtual environment (PP_TORCH_PYTHON: its path)."""
import collections
import glob
import json
import os
import pathlib
import re

from support import case, interpreters, profiler
from support.target_process import TargetProcess

PACKAGES = "usr/lib/python3/dist-packages"
STEPS = 10
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
        self.document = json.loads(exported.read_text())
        self.events = self.document["traceEvents"]
        exported.unlink()
        both = sorted((one for one in self.events if one.get("cat") in ("cpu_op", "user_annotation")
                       and not one["name"].startswith("ProfilerStep#")),
                      key=lambda one: one["args"]["Record function id"])
        self.names = [one["name"] for one in both]  # in the order in which they began
        self.dims = [one["args"].get("Input Dims", []) for one in both]
        self.operators = [one for one in both if one["cat"] == "cpu_op"]
        self.ranges = collections.Counter(one["name"] for one in both if one["cat"] == "user_annotation")
        self.counts = collections.Counter(one["name"] for one in self.operators)
        self.memory = [one for one in self.events if one["name"] == "[memory]"]
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
    shares = False  # all tests of the class use one job, one after the other
    script = "torch_mlp.py"

    def setUp(self):
        kept = type(self).__dict__.get("kept")
        self.__dict__.update(kept or {})
        if kept:
            return
        given = os.environ.get("PP_TORCH_PYTHON")
        having = [interpreters.Interpreter(self.interpreter.version, "environment", "", given)] if given else [
            one for one in self.interpreters if one.path.startswith("/usr/bin/") and
                  glob.glob(f"{one.root}/{PACKAGES}/torch/_C.cpython-{one.minor.replace('.', '')}-*.so")]
        if not having:
            self.skipTest(f"no PyTorch for CPython {self.minor} here")
        self.root = having[0].root
        self.target = TargetProcess(self.script, having[0])
        (self.addClassCleanup if self.shares else self.addCleanup)(self.target.close)
        self.torch = tuple(int(part) for part in re.match(r"(\d+)\.(\d+)", self.ask("version")).groups())
        # Before 2.14, or some version after 2.6, its own profiler counts in microseconds: it assigns memory to the wrong operator, and may miss one.
        self.is_precise = self.torch >= (2, 14)
        if self.shares:
            type(self).kept = {"root": self.root, "target": self.target, "torch": self.torch, "is_precise": self.is_precise}

    def ask(self, *words):
        self.target.tell(" ".join(str(word) for word in words))
        return self.target.expect("done").text.split(" ", 1)[1]

    def recording(self, *options, pid=None):
        recording = profiler.Recording(pid or self.target.pid, *options)
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
        return [(name, shapes) for name, shapes in self.read("profiled", steps)]

    def averages(self, steps):
        """From the target's own profiler: name → calls, memory, own memory."""
        return {name: tuple(row) for name, row in self.read("averages", steps).items() if name != "[memory]"}

    def read(self, *words):
        """What the target writes to a file."""
        path = f"/tmp/pp-torch-{self.target.pid}.json"
        self.ask(*words, path)
        outside = pathlib.Path(self.root + path)
        said = json.loads(outside.read_text())
        outside.unlink()
        return said

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
        if self.shares:
            return
        self.target.tell("finish")
        self.assertEqual((self.target.wait(), self.target.stdout()), (0, "ended well\n"))

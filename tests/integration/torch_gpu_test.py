#!/usr/bin/env python3
"""Operators of PyTorch and the GPU work that they launch, in one recording: on the doubles of CUDA's libraries, against
what the job really did. Needs an interpreter with PyTorch that is not in a root: Debian's 3.11."""
import collections
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, gpu_case, perfetto, profiler  # noqa: E402

STEPS = 20
# The operator, or nothing, that each function of the job launches from.
OPERATORS = {"outer": "pp::outer", "inner": "pp::inner", "backward": "TwiceBackward", "in_range": None, "outside": None}
LAUNCHES = {"outer": 1, "inner": 2, "backward": 1, "in_range": 1, "outside": 1}  # in each step


OWN = ("outer", "inner", "backward")  # what an operator launches


class TorchGpu(gpu_case.GpuCase):
    def setUp(self):
        having = [one for one in self.interpreters if not one.in_root and
                  subprocess.run([one.path, "-c", "import torch"], capture_output=True).returncode == 0]
        if not having:
            self.skipTest(f"no PyTorch for CPython {self.minor} outside of the roots")
        self.interpreter = having[0]
        super().setUp()

    def recorded(self, *options):
        """The trace of some steps, and its JSON."""
        target = self.job(script="torch_launches.py")
        recording = self.start_recording(target, "--torch", "on", *options)
        self.await_all_on(recording, target, "steps 1", "done")
        target.tell(f"steps {STEPS}")
        self.began = int(target.expect("done").text.split()[1])
        self.stop(recording)
        self.path = recording.trace
        exported = self.folder / "out.json"
        profiler.must("export", self.path, "--format", "chrome", "-o", exported)
        self.events = json.loads(exported.read_text())["traceEvents"]
        return self.truth(target)

    def of(self, *categories):
        return [one for one in self.events if one.get("cat") in categories]

    def test_what_an_operator_launches_has_its_id(self):
        for options in ((), ("--mode", "trace")):
            with self.subTest(options):
                self.assertLinksAre(self.recorded(*options))

    def assertLinksAre(self, truth):
        names = {one["args"]["External id"]: one["name"] for one in self.of("cpu_op")}
        sites = {call["correlation"]: call["python"] for call in truth["calls"] if call["start"] >= self.began}
        found = collections.Counter()
        for one in self.of("kernel", "gpu_memcpy"):
            if site := sites.get(one["args"]["correlation"]):
                self.assertEqual(names.get(one["args"].get("External id")), OPERATORS[site], one)
                found[site] += 1
        self.assertEqual(found, {site: STEPS * count for site, count in LAUNCHES.items()})
        calls = {one["args"]["correlation"]: one for one in self.of("cuda_runtime")}
        for one in self.of("kernel", "gpu_memcpy"):
            call = calls.get(one["args"]["correlation"])
            if call is not None:
                self.assertEqual(call["args"].get("External id"), one["args"].get("External id"))
        starts, ends = ({one["id"] for one in self.of("ac2g") if one["ph"] == phase} for phase in "sf")
        self.assertEqual(ends - starts, set())
        self.assertGreaterEqual(len(starts), STEPS * sum(LAUNCHES.values()))

    @unittest.skipIf(perfetto.unavailable(), f"Perfetto was not tried: {perfetto.unavailable()}")
    def test_perfetto_shows_it(self):
        self.recorded("--mode", "trace")
        categories = ("cpu_op", "cuda_runtime", "kernel", "gpu_memcpy", "python_function", "user_annotation")
        with perfetto.Perfetto(str(self.folder)) as program:
            processor = program.load("out.json")
            counts = dict(processor.query("select category, count(*) from slice group by category"))
            wrong = processor.query("select name, value from stats where value != 0 and severity = 'error'")
        self.assertEqual({one: counts[one] for one in categories}, {one: len(self.of(one)) for one in categories})
        self.assertEqual(wrong, [])

    def rows(self, *options):
        said = profiler.must("table", self.path, "--format", "json", "--row-limit", 0, *options).output
        return json.loads(said)["rows"]

    def own_time(self, name):
        """The time of an operator without what it calls: operators and calls of CUDA, which are not its own."""
        own = 0
        for one in self.of("cpu_op"):
            if one["name"] != name:
                continue
            end = self.begin_of(one)
            own += one["dur"]
            for inside in sorted((other for other in self.of("cpu_op", "cuda_runtime") if other is not one
                                  and other["tid"] == one["tid"] and one["ts"] <= other["ts"]
                                  and other["ts"] + other["dur"] <= one["ts"] + one["dur"]), key=self.begin_of):
                if self.begin_of(inside) >= end:  # not in the one before
                    own -= inside["dur"]
                    end = self.begin_of(inside) + inside["dur"]
        return own

    @staticmethod
    def begin_of(one):
        return one["ts"]

    def test_the_table_says_what_the_gpu_took(self):
        truth = self.recorded("--mode", "trace")
        sites = {call["correlation"]: call["python"] for call in truth["calls"]}
        took, calls = collections.Counter(), collections.Counter()
        for one in self.of("kernel", "gpu_memcpy"):  # in the trace, with the job's word for where it came from
            took[sites[one["args"]["correlation"]]] += one["dur"] if "External id" in one["args"] else 0
            took[one["name"]] += one["dur"]
            calls[one["name"]] += 1
        table = {row["name"]: row for row in self.rows()}
        for site in OWN:
            self.assertAlmostEqual(table[OPERATORS[site]]["self_device_time_us"], took[site], 1)
        self.assertAlmostEqual(table["pp::outer"]["device_time_total_us"], took["outer"] + took["inner"], 1)
        self.assertEqual(table["in range"]["self_device_time_us"], 0)
        self.assertAlmostEqual(table["_Z7outsidev"]["self_device_time_us"], took["_Z7outsidev"], 1)
        for name in calls:
            self.assertEqual((table[name]["count"], table[name]["is_device"], table[name]["self_cpu_time_us"]),
                             (calls[name], True, 0))
        launch = table["__cudaLaunchKernel"]
        self.assertFalse(launch["is_device"])
        self.assertGreaterEqual(launch["count"], STEPS * len(LAUNCHES))
        self.assertAlmostEqual(table["pp::outer"]["self_cpu_time_us"], self.own_time("pp::outer"), delta=1)
        text = profiler.must("table", self.path, "--sort-by", "self_cuda_time_total").output
        self.assertRegex(text.splitlines()[0], r"CPU time avg +Self CUDA +Self CUDA % +CUDA total +CUDA time avg")
        self.assertRegex(text, r"(?m)^Self CUDA time total: [\d.]+[mu]s$")
        for grouping in ("module", "stack:1", "overload"):
            rows = [row for row in self.rows("--group-by", grouping) if row["name"] == "pp::inner"]
            self.assertAlmostEqual(sum(row["self_device_time_us"] for row in rows), took["inner"], 1, grouping)
        # The operator pp::inner is called by the function outer.
        lines = profiler.must("table", self.path, "--format", "stacks", "--sort-by", "device").output.splitlines()
        inner = [int(line.rsplit(" ", 1)[1]) for line in lines if "Launches.outer;" in line]
        self.assertAlmostEqual(sum(inner), took["inner"], delta=len(inner) + 1)
        self.assertEqual([line for line in lines if line.endswith(" 0")], [])


if __name__ == "__main__":
    case.main()

#!/usr/bin/env python3
"""Operators of PyTorch and the GPU work that they launch, in one recording: on the doubles of CUDA's libraries, against
what the job really did. Needs an interpreter with PyTorch that is not in a root: Debian's 3.11."""
import collections
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, gpu_case, profiler  # noqa: E402

STEPS = 20
# The operator, or nothing, that each function of the job launches from.
OPERATORS = {"outer": "pp::outer", "inner": "pp::inner", "backward": "TwiceBackward", "in_range": None, "outside": None}
LAUNCHES = {"outer": 1, "inner": 2, "backward": 1, "in_range": 1, "outside": 1}  # in each step


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


if __name__ == "__main__":
    case.main()

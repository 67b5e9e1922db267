#!/usr/bin/env python3
"""The command for a machine with a GPU (tests/gpu/on_a_gpu.py), with doubles instead of the real libraries. It records,
compares, runs the tests, and reports the results.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support import runner  # noqa: E402
from transcripts import transcript  # noqa: E402

VERSION = "130001"
PROGRAMS = os.environ.get("PP_PROGRAMS", str(ROOT / "build/bin"))


class OnDoubles(unittest.TestCase):
    def run_it(self, *options, **environment):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name, "out")
        done = subprocess.run([sys.executable, str(ROOT / "tests/gpu/on_a_gpu.py"), str(self.out), "--programs", PROGRAMS, *options],
                              capture_output=True, text=True, env={**os.environ, **environment})
        return done, self.out.joinpath("report.txt").read_text() if self.out.exists() else ""

    def test_records_and_tests(self):
        done, report = self.run_it("--doubles", VERSION, "--quick")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout, report)
        self.assertIn(f"the double of {VERSION} does the same", report)
        self.assertIn("Ran 1 test", report)
        self.assertIn("nothing of this is to be committed", report)
        about, events = transcript.read(self.out / "transcripts" / VERSION / f"run{transcript.SUFFIX}")
        self.assertEqual((about["real"], about["scenario"], about["version"]), (False, "run", VERSION))
        self.assertGreater(len(events), 1000)

    def test_says_where_the_double_is_otherwise(self):
        """The "real" library here is a double that reports the driver's calls too."""
        done, report = self.run_it("--doubles", VERSION, "--quick", "--part", "transcripts", PP_CUDA_DOUBLE="nested_driver=1")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"the double of {VERSION} does not do the same; first in what launcher#1 does and is told, step", report)
        self.assertIn("\n  the real library: is told at the entry of the driver's 307 (", report)

    def test_says_what_failed(self):
        done, report = self.run_it("--doubles", VERSION, "--quick", PP_GPU_DRIVER="/bin/false")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(report, "\nFailed: scenario run, gpu_shim_test.py\n$")

    def test_a_scenario_that_does_not_end_is_kept(self):
        done, report = self.run_it("--doubles", VERSION, "--quick", "--part", "transcripts", PP_CUDA_DOUBLE="foreign=1")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FAILED: scenario run: the shim does not record", report)
        events = transcript.parse((self.out / "run-unfinished.jsonl").read_text())
        self.assertEqual([event["result"] for event in events if event.get("call") == "cuptiSubscribe_v2" and "result" in event], [39])
        self.assertFalse((self.out / "transcripts").exists())

    def test_says_what_it_lacks(self):
        done, _ = self.run_it("--cudart", "/", "--cupti", "/", PP_GPU_DRIVER="/nowhere")
        self.assertEqual((done.returncode, done.stderr), (1, "/nowhere is not there: build it, and bring it here\n"))


if __name__ == "__main__":
    runner.main()

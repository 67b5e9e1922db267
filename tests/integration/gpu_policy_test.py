#!/usr/bin/env python3
"""Which versions of CUPTI the GPU shim works with, which it refuses, and what --force changes about that. On doubles of
CUDA (tests/doubles/cuda).
"""
import json
import pathlib
import shutil
import tempfile

import gpu_shim_test as shim
from support import case, profiler

MPS = {"CUDA_MPS_PIPE_DIRECTORY": "/tmp/nvidia-mps"}
OLD, BAD = "17", "130000"


class Policy(shim.GpuShimCase):
    def start_job(self, version, env=None, **options):
        """Without the truth, because a refused recording leaves none."""
        return self.start("cuda_job.py", "--version", version, env={
            "PP_CUDA_DOUBLES": shim.DOUBLES, "PP_CUDA_DOUBLE": ",".join(f"{key}={value}" for key, value in options.items()),
            **(env or {})})

    def assertRefused(self, target, reason, *options):
        error = self.refused(target, *options)
        self.assertEqual(error["reason"], reason, error)
        self.assertUnharmed(target.pid)
        self.assertGone(target.pid)
        return error["message"]

    def assertRecords(self, target, *options, how=shim.FINALIZED):
        one, = self.left(target, "--kernels", 100, *options)
        self.assertEqual((one["how"], one["broken"], one["declined"]), (how, 0, 0), one)
        self.assertGreaterEqual(one["kinds"][shim.KERNEL], 100)

    def assertForetold(self, target, reason):
        checks = json.loads(profiler.must("doctor", "--json", "--pid", target.pid).output)["checks"]
        foreseen, = [check for check in checks if check["subject"] == "gpu"]
        self.assertEqual(foreseen["reason"], reason, foreseen)

    def test_too_old(self):
        """--force does not help: such records were never compared with a header."""
        target = self.start_job(OLD)
        for options in ((), ("--force",)):
            self.assertIn("11.8 is the oldest", self.assertRefused(target, "CUPTI_TOO_OLD", *options))
        self.assertEndsWell(target)

    def test_known_to_crash_jobs(self):
        target = self.start_job(BAD)
        self.assertIn("that of CUDA 13.0,", self.assertRefused(target, "CUPTI_BLOCKED"))
        self.assertRecords(target, "--force")
        self.assertEndsWell(target)

    def test_versions_that_work(self):
        for version, how in (("18", shim.DORMANT_VERSION), ("22", shim.DORMANT_VERSION), ("24", shim.FINALIZED),
                             ("28", shim.FINALIZED), ("130001", shim.FINALIZED), ("130500", shim.FINALIZED)):
            with self.subTest(version=version):
                target = self.start_job(version)
                self.assertRecords(target, how=how)
                self.assertEndsWell(target)

    def test_the_driver_is_too_old(self):
        """Too old for the CUPTI that the job has. --force does not help."""
        for version, driver in (("130001", 12090), ("130400", 12090), ("28", 11080)):
            with self.subTest(version=version):
                target = self.start_job(version, driver=driver)
                for options in ((), ("--force",)):
                    self.assertRefused(target, "DRIVER_TOO_OLD", *options)
                self.assertEndsWell(target)

    def test_mps(self):
        target = self.start_job("28", MPS)
        self.assertIn("CUDA 12.9 update 1", self.assertRefused(target, "MPS_UNSAFE"))
        self.assertRecords(target, "--force")
        self.assertEndsWell(target)
        target = self.start_job("130001", MPS)
        self.assertRecords(target)
        self.assertEndsWell(target)

    def test_the_updates_of_13_0_are_told_apart_from_outside(self):
        """By file names: that of a toolkit's library, and those of the files beside a wheel's."""
        self.assertForetold(self.start_job("130001"), None)
        for file, version, reason in (("libcupti.so.2025.3.0", BAD, "CUPTI_BLOCKED"), ("libcupti.so.2025.3.1", "130001", None)):
            with self.subTest(file), tempfile.TemporaryDirectory() as folder:
                toolkits = pathlib.Path(folder, file)
                shutil.copy(pathlib.Path(shim.DOUBLES, version, "site-packages/nvidia/cu13/lib/libcupti.so.13"), toolkits)
                target = self.start_job(version, {"PP_CUPTI_LIBRARY": str(toolkits)})
                self.assertForetold(target, reason)
                self.assertEndsWell(target)

    def test_captures_are_refused_so_too(self):
        """doctor predicts the refusal."""
        for version, env, reason, words in (
                (OLD, None, "CUPTI_TOO_OLD", "11.8 is the oldest"), (BAD, None, "CUPTI_BLOCKED", "known to crash jobs"),
                ("24", MPS, "MPS_UNSAFE", "shares its GPU through MPS")):
            with self.subTest(version=version):
                target = self.start_job(version, env)
                record = ("record", "--gpu", "--pid", target.pid, "--duration", "500ms", "-o", self.truth_file.with_suffix(".pftrace"))
                finished = profiler.must(*record)
                self.assertRegex(finished.errors, f"note: the GPU is not recorded: .*{words}")
                self.assertIn("samples in", finished.errors)
                self.assertForetold(target, reason)
                if reason != "CUPTI_TOO_OLD":
                    self.assertRegex(profiler.must(*record, "--force").errors, r"GPU of process \d+: [1-9][\d,]* kernels")
                self.assertEndsWell(target)


if __name__ == "__main__":
    case.main()

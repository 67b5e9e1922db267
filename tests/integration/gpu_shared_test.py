#!/usr/bin/env python3
"""Two callers and one GPU, with real users. One at a time records the GPU. The other gets samples, and learns who has
the GPU only if they may."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, case, gpu_case, profiler  # noqa: E402
from support.daemon import Daemon, Place  # noqa: E402

ALICE, BOB = access_cases.ALICE, access_cases.BOB
AS = {"root": (), "alice": access_cases.as_user(ALICE), "bob": access_cases.as_user(BOB)}
KERNEL = "softmax_warp"  # part of a kernel's name
HOLDER = r"recorded by capture|of user \d"


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class SharedGpu(gpu_case.GpuCase):
    def setUp(self):
        super().setUp()
        place = Place()
        self.addCleanup(place.close)
        os.chmod(place.folder, 0o755)
        daemon = Daemon(place, "--multi-user", "--socket", place.socket, "--spool", place.spool)
        self.addCleanup(daemon.close)
        self.host = ("--host", place.address)
        self.target = self.start("cuda_job.py", env={"PP_CUDA_DOUBLES": gpu_case.DOUBLES}, python=access_cases.PYTHON,
                                 prefix=AS["alice"])

    def begin(self, who, *options):
        recording = profiler.Recording(self.target.pid, "--gpu", *self.host, *options, prefix=AS[who])
        self.addCleanup(recording.remove)
        return recording

    def holding(self, who):
        """A recording that has the GPU and goes on."""
        recording = self.begin(who, "--duration", "1h")
        recording.shows(KERNEL)
        return recording

    def record_beside(self, who):
        """All messages that `who` gets, whose recording is without the GPU."""
        recording = self.begin(who, "--duration", "500ms")
        finished = recording.wait()
        self.assertEqual(finished.status, 0, finished)
        self.read(recording.trace)
        self.assertEqual((self.totals["state"], self.totals["reason"]), ("refused", "BEING_TRACED"), self.totals)
        self.assertIn("samples in", finished.errors)
        return "\n".join((finished.errors, self.totals["message"], *self.notices))

    def assertHadIt(self, recording):
        self.stop(recording)
        self.assertEqual(self.totals["state"], "recording", self.totals)

    def test_whose_job_it_is_does_not_learn_of_roots_capture(self):
        roots = self.holding("root")
        self.assertNotRegex(self.record_beside("alice"), HOLDER)
        self.assertRegex(self.record_beside("root"), "is recorded by capture c[0-9a-f]+ of user 0")
        self.assertHadIt(roots)
        self.assertHadIt(self.holding("alice"))
        self.assertUnharmed(self.target.pid)

    def test_root_is_told_and_another_user_has_nothing_of_it(self):
        hers = self.holding("alice")
        for who in ("root", "alice"):
            self.assertRegex(self.record_beside(who), f"is recorded by capture c[0-9a-f]+ of user {ALICE}")
        bobs = self.begin("bob", "--duration", "500ms").wait()
        self.assertNotEqual(bobs.status, 0, bobs)
        self.assertIn("belongs to", bobs.errors, "as if nobody recorded it")
        self.assertNotRegex(bobs.errors, HOLDER)
        self.assertHadIt(hers)
        self.assertHadIt(self.holding("root"))
        self.assertUnharmed(self.target.pid)


if __name__ == "__main__":
    case.main()

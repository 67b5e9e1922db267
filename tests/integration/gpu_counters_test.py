"""Counters of GPUs beside a recording, from the double of NVIDIA's library (PP_FAKE_NVML: its folder)."""
import ctypes
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.target_process import DEADLINE  # noqa: E402

DOUBLE = os.environ.get("PP_FAKE_NVML", os.path.join(os.path.dirname(profiler.BINARY), "tests", "doubles", "nvml"))
WHOLE = ["utilisation", "SM clock", "memory clock", "memory used", "power", "temperature"]


def has_library():
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True


class GpuCounters(case.Case):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.log = pathlib.Path(self.folder, "calls")
        self.target = self.start("busyloop.py")

    def record(self, *options, like="", library=DOUBLE):
        """(the counters of the page, the messages)"""
        output = pathlib.Path(self.folder, "out.html")
        with mock.patch.dict(os.environ, LD_LIBRARY_PATH=library, PP_FAKE_NVML=like, PP_FAKE_NVML_LOG=str(self.log)):
            finished = profiler.must("record", "--pid", self.target.pid, "-d", "1s", "-o", output, *options)
        page = re.search(r'id="trace">(.*?)</script>', output.read_text(), re.DOTALL)[1]
        return json.loads(page).get("counters", []), finished.errors

    def assertLeft(self):
        """The helper program must end by itself, because it notices that nothing reads its output."""
        deadline = time.monotonic() + DEADLINE
        while not self.log.read_text().endswith("shutdown\n"):
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.01)
        self.assertNotIn("violation", self.log.read_text())

    @unittest.skipUnless(os.getuid() == 0, "of others it is their own library")
    def test_root_for_another_loads_no_library_of_theirs(self):
        with mock.patch.dict(os.environ, SUDO_UID="1000"):
            counters, _ = self.record("--gpu-counters", "auto")
        self.assertEqual(counters, [])
        self.assertFalse(self.log.exists())

    def test_numbers_of_two_gpus(self):
        counters, said = self.record("--gpu-counters", "on")
        self.assertEqual([(one["group"], one["name"]) for one in counters],
                         [(f"GPU {i} (Model {'AB'[i]})", name) for i in range(2) for name in WHOLE])
        memory = counters[3]
        self.assertEqual((memory["unit"], memory["most"], memory["peak"]), ("B", 80 << 30, 7 << 30))
        for counter in counters:
            points = counter["points"]
            self.assertGreaterEqual(len(points), 2)
            self.assertEqual(points[::2], sorted(points[::2]))
        self.assertTrue(set(counters[6]["points"][1::2]) <= set(range(20, 25)))
        self.assertNotIn("GPU", said)
        self.assertLeft()

    def test_beside_traced_calls(self):
        counters, _ = self.record("--gpu-counters", "on", "--mode", "trace", like="mute,forbidden")
        self.assertEqual([one["name"] for one in counters], WHOLE[1:])
        self.assertLeft()

    def test_what_cannot_be_is_left_out(self):
        counters, _ = self.record("--gpu-counters", "on", like="hostile")
        self.assertEqual([one["name"] for one in counters][:5], WHOLE[1:])
        self.assertNotIn("\x1b", counters[0]["group"])

    def test_why_there_are_none(self):
        counters, said = self.record("--gpu-counters", "on", like="init=9")
        self.assertEqual(counters, [])
        self.assertIn("no GPU counters: libnvidia-ml.so.1 cannot be initialised: Driver Not Loaded", said)
        if not has_library():
            _, said = self.record("--gpu-counters", "on", library="/nowhere")
            self.assertIn("no GPU counters: libnvidia-ml.so.1 was not found", said)

    def test_nothing_is_said_unless_asked(self):
        if os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg"):
            self.skipTest("this machine has a GPU")
        for options in ((), ("--gpu-counters", "auto"), ("--gpu-counters", "off")):
            counters, said = self.record(*options)
            self.assertEqual(counters, [])
            self.assertNotIn("GPU", said)
            self.assertFalse(self.log.exists())

    def test_a_choice_that_is_none(self):
        finished = profiler.run("record", "--pid", self.target.pid, "--gpu-counters", "all")
        self.assertEqual(finished.status, 2)
        self.assertIn("auto, on or off", finished.errors)


if __name__ == "__main__":
    case.main()

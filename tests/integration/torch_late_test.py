"""PyTorch that is imported while its process is recorded: its operators are recorded from then on."""
import collections
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler, soak  # noqa: E402
from support.target_process import TARGETS  # noqa: E402
from support.torch_job import TorchCase  # noqa: E402

STEPS = 50
CYCLES = 100 if soak.FULL else 3
LASTS = 4  # s
JOINED = "PyTorch was loaded after the begin: its operators are recorded from "


class Late(TorchCase):
    script = "torch_late.py"

    def lets_in(self, mode):
        """Up to CPython 3.11 nothing comes into a process whose calls are traced."""
        return mode == "sample" or self.interpreter.numbers >= (3, 12)

    def assertJoins(self, how, mode):
        recording = self.recording("--mode", mode, "--duration", "100s", *(("--torch", "on") if mode == "sample" else ()))
        self.ask(how)
        if self.lets_in(mode):
            recording.shows(JOINED)
        self.ask("steps", STEPS)
        trace = self.end(recording)
        if self.lets_in(mode):
            self.assertIn(f"note: {JOINED}", trace.said)
            self.assertEqual(trace.counts["aten::mm"], STEPS)
        else:
            self.assertRegex(trace.said, r"note: PyTorch's operators are not recorded: process \d+ loaded PyTorch after the "
                                         r"begin, and CPython [\d.]+ lets nothing in while its calls are traced")
            self.assertEqual(trace.names, [])
        self.assertFinishes()

    def test_on_the_main_thread_among_samples(self):
        self.assertJoins("import", "sample")

    def test_on_another_thread_among_calls(self):
        self.assertJoins("beside", "trace")

    def test_on_another_thread_among_samples(self):
        self.assertJoins("beside", "sample")

    def test_it_never_comes(self):
        said = self.end(self.recording("--torch", "on")).said
        self.assertIn("note: PyTorch's operators are not recorded: process "
                      f"{self.target.pid} has not loaded PyTorch (libtorch_cpu.so)", said)
        said = self.end(self.recording("--mode", "trace")).said
        self.assertNotIn("PyTorch", said)  # nobody asked for it
        self.assertFinishes()


class Started(case.Case):
    """A program that we start has no PyTorch at its begin."""

    def setUp(self):
        having = [one for one in self.interpreters if one.path.startswith("/usr/bin/") and not one.in_root
                  and os.path.isdir("/usr/lib/python3/dist-packages/torch")]
        if not having:
            self.skipTest(f"no PyTorch for CPython {self.minor} outside of the roots")
        self.python = having[0].path

    def test_many_times_while_it_works(self):
        joined = 0
        for cycle in range(CYCLES):
            with tempfile.TemporaryDirectory() as folder:
                trace = pathlib.Path(folder, "out.pftrace")
                finished = profiler.must("record", "--torch", "on", "-o", trace, "--", self.python,
                                         TARGETS / "torch_late.py", "--at-once", LASTS)
                count = int(re.search(r"ended well 2\.0 (\d+)\n", finished.output)[1])
                self.assertRegex(finished.errors, r"process \d+ ended; this is what was recorded")
                joined += JOINED in finished.errors
                exported = pathlib.Path(folder, "out.json")
                profiler.must("export", trace, "-o", exported)
                names = collections.Counter(one["name"] for one in json.loads(exported.read_text())["traceEvents"]
                                            if one.get("cat") == "cpu_op")
                self.assertLessEqual(names["aten::mm"], count)
                self.assertGreater(names["aten::mm"], count / 10)
        self.assertEqual(joined, CYCLES)


if __name__ == "__main__":
    case.main()

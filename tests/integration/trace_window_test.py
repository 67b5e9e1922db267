"""The window of a trace of calls: steps of a training job, schedules, full buffers, children, the default length."""
import collections
import glob
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.target_process import DEADLINE  # noqa: E402

ARMINGS = int(os.environ.get("PTRACE_PROF_ARMINGS", "8"))
LONG = "10m"  # longer than any test: a run that ends earlier was ended by something else
ROUNDED = 0.002  # of times, in microseconds
PACKAGES = "usr/lib/python3/dist-packages"


class Slices:
    """What a trace in Kineto's JSON holds."""

    def __init__(self, path):
        events = json.loads(path.read_text())["traceEvents"]
        slices = [one for one in events if one.get("ph") == "X"]
        self.steps = sorted((int(one["name"].split("#")[1]), one["ts"], one["ts"] + one["dur"])
                            for one in slices if one["name"].startswith("ProfilerStep#"))
        self.modules = {one["name"] for one in slices if one["name"].startswith("nn.Module: ")}
        self.calls = collections.defaultdict(list)  # begin times by name
        for one in slices:
            if one.get("cat") == "python_function":
                self.calls[one["name"].rsplit(": ", 1)[-1]].append(one)

    def within(self, name, begin, end):
        return [one for one in self.calls[name] if begin <= one["ts"] and one["ts"] + one["dur"] <= end]


class TraceWindow(case.Case):
    def record(self, target, *options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        output = pathlib.Path(folder.name, "out.json")
        finished = profiler.must("record", "--mode", "trace", "--pid", target.pid, "--buffer", "256M",
                                 "--format", "chrome", "-o", output, *options)
        self.assertUnharmed(target.pid)
        return Slices(output) if output.exists() else None, finished.errors

    def assertWhole(self, slices, numbers):
        """Exactly these steps, each with all that a step does."""
        self.assertEqual([number for number, _, _ in slices.steps], numbers)
        for number, begin, end in slices.steps:
            self.assertEqual(len(slices.within("forward", begin, end)), 3, f"step {number}")

    def idle_run(self, *options):
        """(a target in which no thread runs Python, a run that waits for one)"""
        target = self.start_waiting("wakes.py")
        run = profiler.Recording(target.pid, "--mode", "trace", *options)
        self.addCleanup(run.remove)
        run.shows("runs no Python code now")
        return target, run

    def test_where_nobody_runs_python_it_begins_when_somebody_does(self):
        target, run = self.idle_run()
        target.tell("work")
        target.expect("worked")
        run.interrupt()
        finished = run.wait()
        self.assertEqual(finished.status, 0, finished)
        self.assertIn("returns without a call 0", finished.errors)
        self.assertTrue(any(frame.plain == "work" for stack in run.stacks() for frame in stack))
        self.assertUnharmed(target.pid)

    def test_waiting_for_it_can_be_ended(self):
        target, run = self.idle_run()
        run.interrupt()
        self.assertIn("CANCELLED", run.wait().errors)
        self.assertUnharmed(target.pid)
        target.tell("work")
        target.expect("worked")
        self.assertUnharmed(target.pid)

    def test_so_many_steps(self):
        target = self.start("steps.py", "train")
        slices, said = self.record(target, "--steps", 3, "--duration", LONG)
        self.assertIn("tracing every call of process", said)
        self.assertIn("3 whole steps, at most for 600 s", said)
        self.assertIn("note: recorded 3 whole steps: 0 to 2\n", said)
        self.assertWhole(slices, [0, 1, 2])
        begin, end = slices.steps[0][1], slices.steps[-1][2]
        for name, calls in slices.calls.items():  # nothing before the first step, nothing after the last
            for one in calls:
                self.assertGreaterEqual(one["ts"], begin - ROUNDED, name)
                self.assertLessEqual(one["ts"], end + ROUNDED, name)
        self.assertEqual((len(slices.calls["forward"]), len(slices.calls["update"])), (9, 3))
        self.assertIn("beside", slices.calls)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_a_schedule(self):
        target = self.start("steps.py", "train")
        slices, said = self.record(target, "--skip-first", 2, "--wait", 1, "--warmup", 1, "--active", 2, "--repeat", 2,
                                   "--duration", LONG)
        self.assertIn("note: recorded 4 whole steps: 4 to 5, 8 to 9\n", said)
        self.assertRegex(said, r"outside of the recorded steps [\d,]+\n")
        self.assertWhole(slices, [4, 5, 8, 9])
        self.assertEqual(len(slices.calls["forward"]), 12)
        self.assertEqual(len(slices.calls["update"]), 4)
        for name, calls in slices.calls.items():  # on every thread only calls within those steps, to the last moment
            for one in calls:
                self.assertTrue(any(begin - ROUNDED <= one["ts"] and one["ts"] + one["dur"] <= end + ROUNDED
                                    for begin, end in ((slices.steps[0][1], slices.steps[1][2]),
                                                       (slices.steps[2][1], slices.steps[3][2]))), (name, one))
        self.assertGreater(len(slices.calls["beside"]), 0)
        whole = self.record(target, "--schedule", "warmup=1,active=1,repeat=1", "--duration", LONG)
        self.assertWhole(whole[0], [1])
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_a_job_that_takes_no_steps(self):
        target = self.start("steps.py")
        slices, said = self.record(target, "--steps", 3, "--duration", "300ms")
        self.assertRegex(said, r"note: no torch\.optim\.Optimizer step finished in [\d.]+ s: everything is recorded ")
        self.assertEqual(slices.steps, [])
        self.assertIn("beside", slices.calls)
        slices, said = self.record(target, "--active", 1, "--warmup", 1, "--duration", "600ms")
        self.assertRegex(said, r"note: no torch\.optim\.Optimizer step finished in [\d.]+ s: everything is recorded ")
        self.assertIn("beside", slices.calls)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_a_full_buffer_ends_it_where_that_was_asked_for(self):
        target = self.start("steps.py")
        recording = profiler.Recording(target.pid, "--mode", "trace", "--buffer", "1M", "--on-full", "stop",
                                       "--duration", LONG)
        self.addCleanup(recording.remove)
        self.wait_for_calls(recording)
        (collector,) = recording.children()
        os.kill(collector, signal.SIGSTOP)
        target.tell("burn")  # more calls than there is room for
        target.expect("burnt")
        os.kill(collector, signal.SIGCONT)
        finished = recording.wait()
        self.assertEqual(finished.status, 0, finished)
        self.assertRegex(finished.errors, r"a buffer was full and \d+ events were lost \(--on-full stop\)\n")
        self.assertRegex(finished.errors, r"lost [1-9]")
        self.assertEqual(target.finish(), 0, target.stderr())

    def wait_for_calls(self, recording):
        """Waits until some are in the trace; the target then runs freely."""
        spool = recording.trace.with_name(recording.trace.name + ".pftrace.tmp")
        deadline = time.monotonic() + DEADLINE
        while not spool.exists() or b"forward_beside" not in spool.read_bytes():
            self.assertIsNone(recording.process.poll())
            self.assertLess(time.monotonic(), deadline, "nothing was recorded")
            time.sleep(0.005)

    def test_the_tax_is_told_and_limits_the_default(self):
        target = self.start("steps.py")
        is_taxed = self.minor in ("3.10", "3.11")
        options = () if is_taxed else ("--duration", "300ms")
        _, said = self.record(target, *options)
        self.assertEqual(f"tracing slows down every bytecode of CPython {self.minor}" in said, is_taxed, said)
        self.assertEqual("recording lasts 2 s (--duration changes that)" in said, is_taxed, said)
        if is_taxed:
            self.assertLess(said.index("every bytecode"), said.index("calls and returns in "))
        self.assertNotIn("not traced", said)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_children_are_counted(self):
        target = self.start("steps.py", "children", 3)
        _, said = self.record(target, "--duration", "300ms")
        self.assertIn(f"note: 3 child processes of process {target.pid} were not traced", said)
        self.assertEqual(target.finish(), 0, target.stderr())

    def check_subinterpreters(self, kind):
        """The trace has no call of a subinterpreter, and a note says so."""
        target = self.start("busy_subinterpreter.py", kind)
        answer = target.hear().text
        if answer != "supported":
            self.skipTest(answer)
        for _ in range(2):  # the second time the stub is loaded already
            slices, said = self.record(target, "--duration", "300ms")
            self.assertIn("note: 1 subinterpreter of process %d was not traced" % target.pid, said)
            self.assertIn("returns without a call 0\n", said)
            self.assertIn("main_leaf", slices.calls)
            self.assertEqual([name for name in slices.calls if name.startswith("sub_")], [])
        target.tell("ping")
        target.expect("pong")
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))

    def test_a_subinterpreter_is_named_and_left_out(self):
        self.check_subinterpreters("legacy")

    def test_an_isolated_subinterpreter_is_named_and_left_out(self):
        self.check_subinterpreters("isolated")

    def test_a_generator_that_is_being_made_has_not_begun(self):
        """Its frame is on the stack while it is made, even when the window begins, and no event reports its end."""
        target = self.start("makes_generators.py")
        for _ in range(ARMINGS):
            slices, said = self.record(target, "--duration", "3ms")
            self.assertIn("works", slices.calls, said)
            if self.interpreter.numbers[:2] >= (3, 12):  # before, one that never ran is reported when it is closed
                self.assertEqual([name for name in slices.calls if name.startswith("never")], [])
            self.assertRegex(said, r"returns without a call 0\b")
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))

    def test_what_makes_no_sense_is_refused_by_name(self):
        for options, named in ((("--mode", "trace", "--steps", "0"), "--steps: '0'"),
                               (("--mode", "trace", "--steps=-1"), "--steps: '-1'"),
                               (("--mode", "trace", "--warmup", "1"), "--active is missing"),
                               (("--mode", "trace", "--active", "1", "--steps", "1"), "--steps and --schedule"),
                               (("--mode", "trace", "--on-full", "block"), "'block'"),
                               (("--on-full", "throttle"), "--on-full needs --mode trace"),
                               (("--steps", "1"), "--steps needs --mode trace"),
                               (("--active", "1"), "--active needs --mode trace")):
            with self.subTest(options):
                finished = profiler.run("record", "--pid", os.getpid(), *options)
                self.assertNotEqual(finished.status, 0)
                self.assertIn(named, finished.errors)
                self.assertIn("hint: ", finished.errors)

    def test_steps_of_torch(self):
        """The same with PyTorch itself, where an interpreter has it (Debian's)."""
        having = [one for one in self.interpreters if one.path.startswith("/usr/bin/") and
                  glob.glob(f"{one.root}/{PACKAGES}/torch/_C.cpython-{one.minor.replace('.', '')}-*.so")]
        if not having:
            self.skipTest(f"no PyTorch for CPython {self.minor} here")
        target = self.start("torch_steps.py", interpreter=having[0])
        slices, said = self.record(target, "--steps", 2, "--duration", LONG)
        self.assertIn("note: recorded 2 whole steps: 0 to 1\n", said)
        self.assertEqual([number for number, _, _ in slices.steps], [0, 1])
        for number, begin, end in slices.steps:
            self.assertEqual(len(slices.within("Net.forward", begin, end)), 1, number)
            called = [slices.within(name, begin, end) for name in ("Net_0", "Linear_0 (layer)")]
            self.assertEqual([len(calls) for calls in called], [1, 1], number)
        self.assertEqual(slices.modules, {"nn.Module: Net_0", "nn.Module: Linear_0 (layer)"})  # from the first call on
        slices, said = self.record(target, "--wait", 1, "--warmup", 1, "--active", 1, "--repeat", 2, "--duration", LONG)
        self.assertIn("note: recorded 2 whole steps: 2, 5\n", said)
        self.assertEqual([number for number, _, _ in slices.steps], [2, 5])
        self.assertEqual(target.finish(), 0, target.stderr())


if __name__ == "__main__":
    case.main()

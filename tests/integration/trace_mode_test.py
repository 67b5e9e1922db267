"""`record --mode trace`: every call of real processes of each version, counted against what the target must have done.
"""
import collections
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler, rings  # noqa: E402
from support.call_trees import CallTrees  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402

ROW = re.compile(r"\s*([\d,]+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+(?:\s+[\d.]+\s+[\d.]+)?  (\S+)(?: \(|$)")
PER_BURST = {"leaf": 7, "recursive": 6, "three_times": 1, "raises": 1}
# The first Python module that an interpreter imports, long before its program.
STARTS_FOR_EVER = """
import posix
posix.write(int(posix.environ[b"PP_PACT_FD"]), b"ready")
while posix.read(int(posix.environ[b"PP_PACT_FD"]), 1):
    pass
"""


CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def mount_over(place, file):
    """Mounts for this process and those that it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, bind, private = 0x20000, 0x1000, 0x44000  # CLONE_NEWNS, MS_BIND, MS_REC | MS_PRIVATE
    if (libc.unshare(new_mounts) or libc.mount(b"none", b"/", None, private, None)
            or libc.mount(file.encode(), place.encode(), None, bind, None)):
        raise OSError(ctypes.get_errno(), f"mounting {file} over {place}")


class TraceMode(case.Case):
    def trace(self, target, *options, format="text", ending="\n"):
        """The output of a short trace, of which nothing is missing."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        output = pathlib.Path(folder.name, f"out.{format}")
        finished = profiler.must("record", "--mode", "trace", "--pid", target.pid, "--duration", "500ms", "--buffer", "256M",
                                 "--format", format, "-o", output, *options)
        self.assertIn("tracing every call", finished.errors)
        self.assertRegex(finished.errors, r"\n +lost 0, returns without a call 0" + ending)
        return output.read_text()

    def counts(self, text):
        return {row[2].split(".")[-1]: int(row[1].replace(",", "")) for row in map(ROW.match, text.splitlines()) if row}

    def assertExact(self, counts):
        """Every call in the window is there. Each end of the window may cut one burst on each of three threads."""
        bursts = counts["burst"]
        self.assertGreater(bursts, 4, counts)
        for name, each in PER_BURST.items():
            self.assertLessEqual(abs(counts[name] - each * bursts), 3 * each, counts)

    def test_a_deep_stack_is_whole_at_the_beginning(self):
        depth = 20000 if self.interpreter.numbers >= (3, 11) else 5000
        target = self.start("deep.py", depth, "busy")
        run = profiler.Recording(target.pid, "--mode", "trace", "--duration", "30s", "--buffer", "256M")
        self.addCleanup(run.remove)
        run.shows("rest")  # called at the bottom of the stack, so the window has begun
        target.tell("end")  # all of them return
        finished = run.wait()
        self.assertIn("lost 0, returns without a call 0", finished.errors)
        self.assertNotIn("innermost", finished.errors)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_all_that_was_told_before_it_was_killed_is_there(self):
        target = self.start("alternator.py")
        run = profiler.Recording(target.pid, "--mode", "trace", "--duration", "60s", "--buffer", "256M")
        self.addCleanup(run.remove)
        run.shows("spin")  # "even" is in "events", which a trace has before any event
        turns = []
        while len(turns) < 2 or turns[-1] < turns[0] + 200:
            target.tell("clock")
            turns.append(int(target.expect("clock").text.split()[1]))
        os.kill(target.pid, signal.SIGKILL)
        finished = run.wait()
        self.assertIn("lost 0, returns without a call 0", finished.errors)
        counts = self.counts(profiler.must("export", run.trace, "--format", "text", "-o", "-").output)
        self.assertGreaterEqual(counts["even"] + counts["odd"], turns[-1] - turns[0], finished.errors)

    def test_every_call_is_there_and_nothing_stays(self):
        target = self.start("traced.py")
        target.tell("look")
        before = target.expect("traces").text
        for options in ((), ("--c-calls",), ()):  # the first run loads the stub, the others find it there
            counts = self.counts(self.trace(target, *options))
            self.assertExact(counts)
            if options:
                self.assertIn("sleep", counts)
            self.assertUnharmed(target.pid)
            target.tell("look")
            self.assertEqual(target.expect("traces").text, before)
        brief = json.loads(self.trace(target, "--min-duration", "1h", format="chrome",
                                      ending=", too short and left out [\\d,]+ calls\n"))
        calls = [one for one in brief["traceEvents"] if one.get("cat") == "python_function"]
        finished = {one["name"].split(": ")[-1]: one["args"].get("finished", True) for one in calls
                    if one["ts"] > min(call["ts"] for call in calls)}
        self.assertFalse(finished.get("leaf", False))  # a call that is open at the end has no known duration
        self.assertTrue(any(one["name"].endswith("work") for one in calls), "it ran when the window began")
        self.assertEqual(target.finish(), 0, target.stderr())
        self.assertEqual(target.stdout(), "ended well\n")
        self.assertEqual(target.stderr(), "")

    def test_a_machine_whose_counter_is_not_fit(self):
        """Times are then those of a clock. The kernel's choice of a clock source is replaced for the profiler alone."""
        if os.geteuid() != 0:
            self.skipTest("only root can mount a file over the kernel's")
        target = self.start("traced.py")
        with tempfile.NamedTemporaryFile("w") as choice:
            choice.write("hpet\n")
            choice.flush()
            run = profiler.Recording(target.pid, "--mode", "trace", "-d", "500ms", "--buffer", "256M",
                                     preexec=lambda: mount_over(CLOCK_SOURCE, choice.name))
            self.addCleanup(run.remove)
            run.shows("burst")
            self.assertEqual(rings.clock(target.pid), rings.MONOTONIC)
            finished = run.wait()
        self.assertIn("lost 0, returns without a call 0", finished.errors)
        self.assertRegex(finished.errors, r"returns in 0\.[56] s")
        text = profiler.must("export", run.trace, "--format", "text", "-o", "-").output
        self.assertExact(self.counts(text))
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_code_that_is_freed_is_not_taken_for_what_comes_to_its_place(self):
        target = self.start("fleeting.py")
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "out.pftrace")
            profiler.must("record", "--mode", "trace", "--pid", target.pid, "-d", "100ms", "--buffer", "256M", "-o", trace)
            trees = CallTrees(trace)
        outcomes = collections.Counter(made.name[-1] == mark.name[-1] for letter in "abc"
                                       for made in trees.named[f"made_{letter}"] for mark in made.below)
        outcomes["gone"] = sum(root.name.startswith("mark_") for root in trees.roots)  # the caller has no name
        print(f"{self.interpreter}: {outcomes}")
        self.assertGreater(sum(outcomes.values()), 100)
        self.assertEqual(outcomes[False], 0)
        self.assertGreater(outcomes[True], 100)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_threads_that_the_main_thread_waits_for_go_on(self):
        """On 3.11 such a thread would stop for good if something waited until the main thread looked at it."""
        target = self.start("thread_relay.py")
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(30 if self.interpreter.minor == "3.11" else 3):
                profiler.must("record", "--mode", "trace", "--pid", target.pid, "--duration", "10ms", "-o",
                              f"{folder}/out.pftrace")
                target.tell("ping")
                target.expect("pong")
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))

    def record_auto(self, target, *options):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return profiler.must("record", "--mode", "auto", "--pid", target.pid, "--duration", "300ms", "--rate", "100",
                             "--c-calls", "-o", pathlib.Path(folder.name, "out.pftrace"), *options)

    def test_calls_if_they_can_be_had(self):
        target = self.start("traced.py")
        finished, unlimited = self.record_auto(target).errors, self.record_auto(target, "--max-overhead", "off").errors
        is_taxed = self.interpreter.numbers[:2] in ((3, 10), (3, 11))
        if self.interpreter.numbers[:2] >= (3, 12):
            self.assertIn("tracing every call", finished)
            self.assertIn("note: tracing is limited to 5 % of one core", finished)
            self.assertIn("calls and returns in", finished)
        else:
            self.assertRegex(finished, r"sampling, not tracing: on CPython 3\.1\d.* every bytecode" if is_taxed else
                             r"sampling, not tracing: CPython 3\.[89].* cannot limit tracing to 5 % of one core")
            self.assertIn("samples in", finished)
        self.assertIn("sampling, not tracing" if is_taxed else "tracing every call", unlimited)
        self.assertNotIn("tracing is limited to", unlimited)
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_samples_where_they_cannot(self):
        if self.interpreter.numbers[:2] < (3, 14):
            self.skipTest("nobody can disable remote debugging there")
        target = self.start("traced.py", options=["-X", "disable-remote-debug"])
        finished = self.record_auto(target)
        self.assertIn(f"sampling, not tracing: process {target.pid} was started with remote debugging disabled",
                      finished.errors)
        self.assertIn("samples in", finished.errors)
        self.assertIn("tracing every call", self.record_auto(target, "--force").errors)
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_a_process_without_room_for_a_text(self):
        target = self.start("no_room.py")
        target.tell("look")
        before = target.expect("traces").text
        with tempfile.TemporaryDirectory() as folder:
            finished = profiler.run("record", "--mode", "trace", "--pid", target.pid, "--duration", "300ms", "-o",
                                    f"{folder}/out.pftrace")
        if self.interpreter.numbers[:2] >= (3, 14):  # loaded by a script
            self.assertIn("calls and returns in", finished.errors)
        else:
            self.assertNotEqual(finished.status, 0)
            self.assertRegex(finished.errors, f"process {target.pid} has no .*unused memory for the injected code "
                                              r"\[NO_ROOM_FOR_TEXT\]")
            self.assertIn("sampling, not tracing", self.record_auto(target, "--max-overhead", "off").errors)
        target.tell("look")
        self.assertEqual(target.expect("traces").text, before)
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stdout()), (0, "ended well\n"), target.stderr())

    def test_a_collector_that_stood_still_for_too_long(self):
        """The tracer leaves by itself. The events until then are there, and the reason is reported once."""
        target = self.start("traced.py")
        run = profiler.Recording(target.pid, "--mode", "trace", "--duration", "1h")
        self.addCleanup(run.remove)
        run.shows("burst")
        collectors = run.children()
        for pid in collectors:
            os.kill(pid, signal.SIGSTOP)
        while rings.are_mapped(target.pid):
            time.sleep(0.01)
        for pid in collectors:
            os.kill(pid, signal.SIGCONT)
        finished = run.wait()
        self.assertEqual(finished.status, 10, finished)
        self.assertEqual(finished.errors.count(profiler.STARVED), 1, finished)
        self.assertIn("hint: ptrace-prof got too little CPU", finished.errors)
        self.assertIn("burst", profiler.must("export", run.trace, "--format", "text", "-o", "-").output)
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_an_interpreter_that_is_still_starting(self):
        if self.interpreter.in_root:
            self.skipTest("its modules are in a root of its own")
        if self.interpreter.numbers >= (3, 15):
            self.skipTest("it takes no module from a folder while it starts")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        module = pathlib.Path(folder.name, "encodings", "__init__.py")
        module.parent.mkdir()
        module.write_text(STARTS_FOR_EVER)
        target = TargetProcess(shutil.which("env"), None,
                               (f"PYTHONPATH={folder.name}", self.interpreter.path, "-c", "pass"))
        self.addCleanup(target.close)
        refused = profiler.run("record", "--mode", "trace", "--pid", target.pid, "-o", f"{folder.name}/out.pftrace")
        self.assertNotEqual(refused.status, 0)
        self.assertIn(f"the interpreter of process {target.pid} is still starting", refused.errors)
        self.assertIn("PYTHON_NOT_STARTED", refused.errors)
        self.assertUnharmed(target.pid)


if __name__ == "__main__":
    case.main()

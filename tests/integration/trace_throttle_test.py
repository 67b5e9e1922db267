"""`record --mode trace --on-full throttle`: a process with more events than the collector can read waits for it alone.
"""
import json
import os
import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler, rings  # noqa: E402
from support.target_process import DEADLINE  # noqa: E402

THROTTLED = ("--mode", "trace", "--buffer", "1M", "--on-full", "throttle", "--duration", "10m")
BURST = 20_000  # calls of `forward` in one "burn" (tests/targets/steps.py): ten times what the buffer holds
TRIES = 10
HELD = re.compile(r", held back ([\d,]+) times? for ([\d.]+) (?:µs|ms|s) in total \([\d.]+ % of the time\)")


class TraceThrottle(case.Case):
    def record(self, target):
        recording = profiler.Recording(target.pid, *THROTTLED)
        self.addCleanup(recording.remove)
        recording.shows("forward_beside")
        return recording

    def await_hold(self, target):
        deadline = time.monotonic() + DEADLINE
        while rings.holds(target.pid) == 0:
            self.assertLess(time.monotonic(), deadline, "no thread ever waited")

    def burst(self, target):
        """A recording in which the process had to wait: the messages, and the trace in Kineto's JSON."""
        recording = self.record(target)
        (collector,) = recording.children()
        os.kill(collector, signal.SIGSTOP)
        target.tell("burn")
        self.await_hold(target)
        os.kill(collector, signal.SIGCONT)
        target.expect("burnt")
        recording.interrupt()
        finished = recording.wait()
        self.assertEqual(finished.status, 0, finished)
        text = profiler.must("export", recording.trace, "--format", "chrome", "-o", "-").output
        return finished.errors, json.loads(text)["traceEvents"]

    def test_nothing_is_lost(self):
        """A wait ends after a quarter of a second. A busy machine may give no CPU to the collector for that long, so it
        retries."""
        target = self.start("steps.py")
        for _ in range(TRIES):
            said, events = self.burst(target)
            held = HELD.search(said)
            self.assertIsNotNone(held, said)
            self.assertGreater(float(held[2]), 0, said)
            names = [event["name"].rsplit(": ", 1)[-1] for event in events if event.get("ph") == "X"]
            self.assertIn("[held back by the tracer]", names)
            lost = "[events lost]" in names
            self.assertEqual("\n  lost 0," not in said, lost, said)
            if not lost and "did not renew its lease" not in said:
                self.assertEqual(names.count("forward"), BURST)
                self.assertRegex(said, r"\n  lost 0, returns without a call 0, held back")
                break
        else:
            self.fail(f"{TRIES} times out of {TRIES} the collector was kept off the CPU for too long: {said}")
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))

    def test_a_collector_that_is_killed_meanwhile(self):
        target = self.start("steps.py")
        recording = self.record(target)
        (collector,) = recording.children()
        os.kill(collector, signal.SIGSTOP)
        target.tell("burn")
        self.await_hold(target)
        os.kill(collector, signal.SIGKILL)
        begin = time.monotonic()
        target.expect("burnt")
        print(f"{self.interpreter}: went on and was done {time.monotonic() - begin:.3f} s after the collector's death")
        self.assertNotEqual(recording.wait().status, -signal.SIGKILL)
        deadline = time.monotonic() + DEADLINE
        while rings.are_mapped(target.pid):
            self.assertLess(time.monotonic(), deadline, "the tracer did not leave")
            time.sleep(0.005)
        self.assertUnharmed(target.pid)
        finished = profiler.must("record", "--pid", target.pid, "-o", recording.trace, *THROTTLED[:-1], "300ms")
        self.assertIn("calls and returns in", finished.errors)
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))

    def test_a_collector_that_does_not_read(self):
        """The process does not wait for ever: the tracer leaves once its lease is over."""
        target = self.start("steps.py")
        recording = self.record(target)
        (collector,) = recording.children()
        os.kill(collector, signal.SIGSTOP)
        target.tell("burn")
        target.expect("burnt")
        os.kill(collector, signal.SIGCONT)
        recording.interrupt()
        self.assertIn("calls and returns in", recording.wait().errors)
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))

    def test_nobody_waits_unless_asked_to(self):
        target = self.start("steps.py")
        recording = profiler.Recording(target.pid, *THROTTLED[:4], "--duration", "10m")
        self.addCleanup(recording.remove)
        recording.shows("forward_beside")
        (collector,) = recording.children()
        os.kill(collector, signal.SIGSTOP)
        target.tell("burn")
        target.expect("burnt")
        waited = rings.holds(target.pid)
        os.kill(collector, signal.SIGCONT)
        recording.interrupt()
        said = recording.wait().errors
        self.assertEqual(waited, 0)
        self.assertNotIn("held back", said)
        self.assertEqual(target.finish(), 0, target.stderr())


if __name__ == "__main__":
    case.main()

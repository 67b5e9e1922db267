"""A trace of a process that lets no tracer in: a true message and an end, within the requested time, and at once by
Ctrl-C."""
import contextlib
import os
import pathlib
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.target_process import status_fields  # noqa: E402

FREEZERS = (("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"),
            ("/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0"), ("/sys/fs/cgroup", "cgroup.freeze", "1", "0"))
SOON = 30  # seconds: a tenth of the time that an endless wait would get


@contextlib.contextmanager
def frozen(pid, freezer):
    """Inside the block, the process is in a frozen cgroup of its own. Raises OSError if that is impossible."""
    mount, file, freeze, thaw = freezer
    group = pathlib.Path(mount, f"ptrace-prof-{pid}")
    group.mkdir()
    try:
        (group / file).stat()
        (group / "cgroup.procs").write_text(str(pid))
        try:
            (group / file).write_text(freeze)
            events = group / ("cgroup.events" if file == "cgroup.freeze" else file)
            while not {"FROZEN", "frozen 1"} & set(events.read_text().splitlines()):
                time.sleep(0.001)
            yield
        finally:
            (group / file).write_text(thaw)
            pathlib.Path(mount, "cgroup.procs").write_text(str(pid))
    finally:
        group.rmdir()


class TraceWaits(case.Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.output = pathlib.Path(folder.name, "out.pftrace")

    def running(self, target, *options):
        return profiler.Running("record", "--mode", "trace", "--pid", target.pid, "-o", self.output, *options)

    def assertRefused(self, target, sentence, *options, reason="TARGET_IDLE"):
        refused = self.running(target, *options).wait(SOON)
        self.assertRegex(refused.errors, rf"error: .*{sentence}.*\[{reason}\]")
        self.assertNotIn(refused.status, (0, 1, 2), refused)

    def test_frozen(self):
        tested = 0
        for freezer in FREEZERS:
            target = self.start("lets_nobody_in.py", "waits")
            try:
                with frozen(target.pid, freezer):
                    self.assertRefused(target, "is in a frozen cgroup", reason="TARGET_STOPPED")
                    tested += 1
            except OSError:
                pass  # not mounted, or not ours
        if not tested:
            self.skipTest("no cgroup can be frozen here")

    def test_stopped(self):
        target = self.start("lets_nobody_in.py", "waits")
        target.signal(signal.SIGSTOP)
        while status_fields(target.pid)["State"][0] != "T":
            time.sleep(0.001)
        self.assertRefused(target, "is stopped", reason="TARGET_STOPPED")
        target.signal(signal.SIGCONT)
        self.assertUnharmed(target.pid)

    def test_a_thread_that_no_signal_reaches(self):
        target = self.start("in_state_d.py")
        fifo = f"/proc/{target.pid}/root{target.expect('waits').text.split()[1]}"
        self.addCleanup(lambda: os.path.exists(fifo) and os.close(os.open(fifo, os.O_RDWR)))
        for times in range(2):  # the second run meets what the first has left
            traced = self.running(target, "-d", "300ms").wait(SOON)
            self.assertEqual(traced.status, 0, traced)
            self.assertRegex(traced.errors, r"(?m)^[1-9][\d,]* calls and returns in", times)
            states = [status_fields(target.pid, tid)["State"][0] for tid in os.listdir(f"/proc/{target.pid}/task")]
            self.assertIn("D", states)
        with open(fifo, "wb"):
            target.expect("spawned")
        self.assertUnharmed(target.pid)

    def test_only_a_subinterpreter(self):
        if self.interpreter.numbers[:2] == (3, 8):
            self.skipTest("any interpreter lets a tracer in, and is traced")
        target = self.start("lets_nobody_in.py", "subinterpreter")
        self.assertRefused(target, "only in a subinterpreter")
        samples = profiler.run("record", "--mode", "auto", "--max-overhead", "off", "--pid", target.pid, "-d", "300ms", "-o",
                               self.output)
        self.assertEqual(samples.status, 0, samples)
        self.assertRegex(samples.errors, "sampling, not tracing: .+")

    def test_loop_without_calls(self):
        if self.interpreter.numbers[:2] >= (3, 12):
            self.skipTest("any thread lets a tracer in")
        target = self.start_waiting("lets_nobody_in.py", "loop")
        self.assertRefused(target, "can start tracing only at a call")

    def test_the_duration_counts_from_the_request(self):
        target = self.start_waiting("lets_nobody_in.py", "waits")
        for asked, waited in ("500ms", "2"), ("2500ms", "2.5"):
            self.assertRefused(target, f"ran no Python code in its main interpreter for {waited} s", "-d", asked)

    def test_interrupted_while_it_waits(self):
        target = self.start_waiting("lets_nobody_in.py", "waits")
        running = self.running(target)
        while "runs no Python code now" not in os.pread(running._errors.fileno(), 1 << 16, 0).decode():
            self.assertIsNone(running.process.poll())
            time.sleep(0.01)
        running.interrupt()
        finished = running.wait(SOON)
        self.assertIn("[CANCELLED]", finished.errors)
        self.assertUnharmed(target.pid)


if __name__ == "__main__":
    case.main()

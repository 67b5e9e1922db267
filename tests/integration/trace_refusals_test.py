"""What an exact trace refuses, as a user sees it: with a reason, and before anything is written into the process, which
goes on. `--mode auto` then takes samples instead."""
import ctypes
import os
import pathlib
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.target_process import DEADLINE, status_fields  # noqa: E402

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


class TraceRefusals(case.Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.output = pathlib.Path(folder.name, "out.pftrace")

    def record(self, target, mode, *options):
        return profiler.run("record", "--mode", mode, "--pid", target.pid, "-d", "300ms", "-o", self.output, *options)

    def written_by_us(self, target):
        """Whether any file that a capture leaves in a process is there."""
        with open(f"/proc/{target.pid}/maps") as maps:
            return "memfd:ptrace-prof" in maps.read() or any(
                "memfd:ptrace-prof" in os.readlink(f"/proc/{target.pid}/fd/{number}")
                for number in os.listdir(f"/proc/{target.pid}/fd"))

    def assertRefused(self, target, reason, samples=True):
        refused = self.record(target, "trace")
        self.assertRegex(refused.errors, rf"error: .*\[{reason}\]")
        self.assertNotIn(refused.status, (0, 1, 2), refused)
        self.assertFalse(self.output.exists())
        self.assertFalse(self.written_by_us(target))
        if samples:
            instead = self.record(target, "auto", "--max-overhead", "off")
            self.assertEqual(instead.status, 0, instead)
            self.assertIn("sampling, not tracing", instead.errors)

    def assertEndsWell(self, target):
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "", ""))

    def start_waiting_for_its_end(self, mode):
        return self.start_waiting("refusing.py", mode)

    def test_nothing_stands_in_the_way(self):
        """Without this check, the refusals below could have another cause."""
        target = self.start_waiting_for_its_end("nothing")
        self.assertEqual(self.record(target, "trace").status, 0)
        self.assertEndsWell(target)

    def test_an_interpreter_that_is_about_to_end_hears_nothing_of_us(self):
        """Its modules are gone before the last call that may wait for the tracer."""
        target = self.start("without_modules.py")
        for _ in range(8):  # some arrive at just that moment
            self.record(target, "trace")
        self.assertEndsWell(target)

    def test_another_tool_evaluates_its_frames(self):
        if self.interpreter.numbers[:2] not in ((3, 9), (3, 10), (3, 11)):
            self.skipTest("no frame hook from 3.12 on, and none that a job could set by ctypes in 3.8")
        target = self.start_waiting_for_its_end("frames")
        self.assertRefused(target, "FOREIGN_FRAME_HOOK")
        self.assertEndsWell(target)

    def test_a_profiler_has_the_only_place(self):
        target = self.start_waiting_for_its_end("profiler")
        refused = self.record(target, "trace")
        self.assertRegex(refused.errors, r"error: .*\[FOREIGN_PROFILER\]")
        self.assertFalse(self.output.exists())
        self.assertEndsWell(target)

    def test_its_files_may_not_be_large(self):
        """Writing our file there would kill the target with SIGXFSZ."""
        target = self.start_waiting_for_its_end("files")
        self.assertRefused(target, "TRACER_NOT_LOADED")
        self.assertIn("RLIMIT_FSIZE", self.record(target, "trace").errors)
        self.assertEndsWell(target)

    def test_stopped(self):
        target = self.start_waiting_for_its_end("nothing")
        target.signal(signal.SIGSTOP)
        deadline = time.monotonic() + DEADLINE
        while status_fields(target.pid)["State"][0] != "T" and time.monotonic() < deadline:
            time.sleep(0.001)
        self.assertRefused(target, "TARGET_STOPPED")
        target.signal(signal.SIGCONT)
        self.assertEndsWell(target)

    def test_another_tracer_has_it(self):
        target = self.start_waiting_for_its_end("nothing")
        self.assertEqual(libc.ptrace(PTRACE_SEIZE, target.pid, None, None), 0)
        try:
            self.assertRefused(target, "ALREADY_TRACED")
        finally:
            libc.ptrace(PTRACE_INTERRUPT, target.pid, None, None)  # PTRACE_DETACH works only on a stopped thread
            os.waitpid(target.pid, WALL)
            libc.ptrace(PTRACE_DETACH, target.pid, None, None)
        self.assertEndsWell(target)


if __name__ == "__main__":
    case.main()

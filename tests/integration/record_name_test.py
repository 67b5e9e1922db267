"""`record --name` finds the named process or waits for it, without a daemon and through one."""
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import daemon as daemons  # noqa: E402
from support.terminal_run import PYTHON, SPIN, TerminalCase, main  # noqa: E402

# A process, and a child of it with the same name.
FAMILY = """
import os, subprocess, sys
if len(sys.argv) > 2:
    subprocess.Popen([sys.executable, *sys.argv[:-1]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
"""


class Names(TerminalCase):
    host = "none"

    def setUp(self):
        super().setUp()
        self.word = f"name_{os.getpid()}_{self.folder.name}"  # a name that no other process has
        self.script = self.folder / f"{self.word}.py"
        self.script.write_text(SPIN)
        self.out = self.folder / "out.collapsed"

    def named(self, *more):
        target = subprocess.Popen([PYTHON, self.script, *more], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(self._end, target)
        return target

    def running(self, *more):
        target = self.named(*more)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        return target

    def record(self, *options, pattern=None):
        return self.ptrace_prof("record", "--name", pattern or self.word, "-d", "0.3", "-o", self.out, "--host", self.host,
                                *options)

    def assertRecords(self, run, target):
        self.assertEqual(run.end(), 0, run.words())
        self.assertIn(f"recording process {target.pid} ", run.words())
        self.assertIn("spin", self.out.read_text())

    def test_the_one_that_runs(self):
        target = self.running()
        self.assertRecords(self.record(pattern=f"python3? .*{self.word}\\.py$"), target)

    def test_the_one_that_runs_needs_no_waiting(self):
        target = self.running()
        self.assertRecords(self.record("--wait"), target)

    def test_several_are_listed(self):
        targets = [self.running(), self.running("second")]
        run = self.record()
        self.assertEqual(run.end(), 2, run.words())
        for target, words in zip(targets, (f"{self.word}.py", f"{self.word}.py second")):
            self.assertRegex(run.words(), rf"(?m)^ *{target.pid}  .*{words}$")
        self.assertIn("--pid", run.words())
        self.assertFalse(self.out.exists())
        self.assertRecords(self.record(pattern=f"{self.word}.py second"), targets[1])

    def test_none(self):
        self.refuse(3, "record", "--name", self.word, "-o", self.out, "--host", self.host, says=[self.word, "--wait"])
        self.refuse(3, "record", "--name", self.word, "--wait", "200ms", "-o", self.out, "--host", self.host,
                    says=[self.word, "within 0.2 s"])
        self.assertEqual(self.files(), [self.script.name])

    def test_the_one_that_comes(self):
        run = self.record("--wait")
        run.hear("waiting")
        self.assertRecords(run, self.named())
        self.assertEqual(run.words().count("waiting for a Python process"), 1)

    def test_interrupt_ends_the_waiting(self):
        run = self.record("--wait", "1h")
        run.hear("waiting")
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.end(), 130, run.words())
        self.assertIn("interrupted before", run.words())
        self.assertEqual(self.files(), [self.script.name])

    def test_children_are_recorded_with_their_parent(self):
        self.script.write_text(FAMILY + SPIN)
        parent = self.running("one", "two")
        while not (children := daemons.children(parent.pid)):
            pass
        self.addCleanup(lambda: [os.kill(child, signal.SIGKILL) for child in children])
        self.assertRecords(self.record(), parent)

    def test_nonsense(self):
        for words in (["--name", "x", "--pid", "1"], ["--name", "["], ["--wait", "--pid", "1"], ["--wait"],
                      ["--name", "x", "--wait", "soon"], ["--name", "x", "--", "true"]):
            with self.subTest(words):
                self.refuse(2, "record", *words)


class NamesThroughADaemon(Names):
    def setUp(self):
        super().setUp()
        place = daemons.Place()
        self.addCleanup(place.close)
        self.addCleanup(daemons.Daemon(place).close)
        self.host = place.address

    def test_detached(self):
        target = self.running()
        run = self.ptrace_prof("record", "--name", self.word, "--detach", "-d", "0.2", "--host", self.host)
        self.assertEqual(run.end(), 0, run.words())
        self.assertIn(f"records process {target.pid}", run.words())


if __name__ == "__main__":
    main()

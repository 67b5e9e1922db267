"""`ptrace-prof` as a user sees it: its messages on stderr one by one, and the small Python programs that it is tried
on."""
import contextlib
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import unittest

from . import runner
from .children import children_of
from .profiler import BINARY
from .target_process import DEADLINE

# Debian's Python, which every user may run; else the first one in PATH.
PYTHON = next((path for path in ("/usr/bin/python3", shutil.which("python3")) if path and os.access(path, os.X_OK)), None)
AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
SPIN = """
import os
def spin():
    total = 0
    while True:
        for number in range(1000):
            total += number
os.write(1, b"ready\\n")
spin()
"""


class TerminalRun:
    """A running command whose stderr is read line by line."""

    def __init__(self, *arguments, prefix=(), **options):
        self.process = subprocess.Popen([*prefix, BINARY, *map(str, arguments)], stderr=subprocess.PIPE,
                                        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **options})
        self.said = []

    @property
    def pid(self):
        return self.process.pid

    def hear(self, word):
        """Reads up to the line that contains this text."""
        for line in self.process.stderr:
            self.said.append(line.decode())
            if word in self.said[-1]:
                return self.said[-1]
        raise AssertionError(f"nothing with {word!r} in: {self.words()}")

    def words(self):
        return "".join(self.said)

    def collector(self):
        return children_of(self.pid)[0]

    def end(self):
        """The exit status. words() then returns the rest of stderr."""
        self.said += [line.decode() for line in self.process.stderr]
        return self.process.wait(DEADLINE)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        self.process.stderr.close()


def await_exit(pidfd):
    """Waits until the process behind a pidfd has ended."""
    if not select.select([pidfd], [], [], DEADLINE)[0]:
        raise AssertionError("a process is still there")
    os.close(pidfd)


class TerminalCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        os.chmod(self.folder, 0o777)

    def spin(self, prefix=(), python=PYTHON):
        """A Python process that computes."""
        target = subprocess.Popen([*prefix, python, "-c", SPIN], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(self._end, target)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        return target

    @staticmethod
    def _end(target):
        target.kill()
        target.wait(DEADLINE)
        for stream in (target.stdin, target.stdout):
            with contextlib.suppress(AttributeError, BrokenPipeError):
                stream.close()

    def ptrace_prof(self, *arguments, **options):
        run = TerminalRun(*arguments, **options)
        self.addCleanup(run.close)
        return run

    def refuse(self, code, *arguments, says=(), hints=True, prefix=()):
        """Asserts that the run ended with this code and has these words in an error line."""
        run = self.ptrace_prof(*arguments, prefix=prefix)
        status = run.end()
        self.assertEqual(status, code, run.words())
        self.assertRegex(run.words(), r"(?m)^error: .")
        if hints:
            self.assertRegex(run.words(), r"(?m)^hint: .")
        for word in says:
            self.assertIn(str(word), run.words())
        return run.words()

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())


def main():
    if PYTHON is None or not os.access(BINARY, os.X_OK):
        raise SystemExit(runner.SKIPPED)
    runner.main()


needs_root = unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")

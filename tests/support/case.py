"""The base of the tests that need an interpreter, which the command line chooses.

A test file ends in `case.main()` and is run as `python3 x_test.py [--python 3.11 | --any] [Class…]`. Without either
option every minor of the matrix is tested in turn. With --any the tests run once and choose the interpreter. Exit
status 77: nothing could be tested here.
"""
import os
import sys
import unittest

from . import interpreters, profiler, runner
from .target_process import TargetProcess, harm


class Case(unittest.TestCase):
    """`self.interpreter`: the cheapest interpreter of the minor under test; `self.interpreters`: all of them."""
    minor = None
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.interpreters = interpreters.of_minor(cls.minor) if cls.minor else interpreters.discover()
        cls.interpreter = cls.interpreters[0]

    def start(self, script, *arguments, interpreter=None, **options):
        """A target that lives until the end of the test."""
        target = TargetProcess(script, interpreter or self.interpreter, arguments, **options)
        self.addCleanup(target.close)
        return target

    def start_waiting(self, script, *arguments, **options):
        """A target that has switched to listening to us."""
        target = self.start(script, *arguments, **options)
        target.settle()
        return target

    def assertUnharmed(self, pid):
        self.assertEqual(harm(pid), [])

    def stack_of(self, threads, name):
        found = [thread for thread in threads if thread.name == name]
        self.assertEqual(len(found), 1, f"{name} among {[thread.name for thread in threads]}")
        return found[0].stack


def main():
    arguments = sys.argv[1:]
    minors = interpreters.MINORS
    if arguments[:1] == ["--python"]:
        minors, arguments = (arguments[1],), arguments[2:]
    elif arguments[:1] == ["--any"]:
        minors, arguments = (None,), arguments[1:]
    if not os.access(profiler.BINARY, os.X_OK):
        sys.exit(f"PTRACE_PROF_BIN={profiler.BINARY} is not there: build it first")
    good, tested = True, False
    for minor in minors:
        if minor is not None and not interpreters.of_minor(minor):
            print(f"CPython {minor} is not available here: not tested")
            continue
        Case.minor = minor
        ok, some = runner.run_tests(arguments)
        good, tested = good and ok, tested or some
    sys.exit(runner.exit_status(good, tested))

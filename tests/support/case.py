"""The base of the tests that need an interpreter: which one comes from the command line.

A test file ends in `case.main()` and is run as `python3 test_x.py [--python 3.11] [Class…]`. Without --python every
minor of the matrix is taken in turn. Exit status 77: that minor cannot be had here.
"""
import os
import sys
import unittest

from . import interpreters, profiler
from .target_process import TargetProcess, harm

SKIPPED = 77


class Case(unittest.TestCase):
    """`self.interpreter`: the cheapest of the minor under test; `self.interpreters`: all of them."""
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

    def assertUnharmed(self, pid):
        self.assertEqual(harm(pid), [])

    def stack_of(self, threads, name):
        found = [thread for thread in threads if thread.name == name]
        self.assertEqual(len(found), 1, f"{name} among {[thread.name for thread in threads]}")
        return found[0].stack


def _run(names):
    program = unittest.main(module="__main__", argv=[sys.argv[0], *names], exit=False, verbosity=1)
    return program.result.wasSuccessful()


def main():
    arguments = sys.argv[1:]
    minors = interpreters.MINORS
    if arguments[:1] == ["--python"]:
        minors, arguments = (arguments[1],), arguments[2:]
    if not os.access(profiler.BINARY, os.X_OK):
        sys.exit(f"PTRACE_PROF_BIN={profiler.BINARY} is not there: build it first")
    missing = [minor for minor in minors if not interpreters.of_minor(minor)]
    good = True
    for minor in minors:
        if minor not in missing:
            Case.minor = minor
            good = _run(arguments) and good
    for minor in missing:
        print(f"CPython {minor} is not available here: not tested")
    sys.exit(0 if good and len(missing) < len(minors) else SKIPPED if good else 1)

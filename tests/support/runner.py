"""unittest's main for our test files. It prints the tests that it leaves out on lines that `./dev test` collects at its
end.

Exit status 77 (SKIPPED): nothing could be tested here.
"""
import sys
import unittest

SKIPPED = 77


def run_tests(names=()):
    """(all tests passed, something was tested)"""
    result = unittest.main(module="__main__", argv=[sys.argv[0], *names], exit=False).result
    for test, reason in result.skipped:
        print(f"not tested: {test.id().removeprefix('__main__.')}: {reason}", flush=True)
    return result.wasSuccessful(), result.testsRun > len(result.skipped)


def exit_status(good, tested):
    return 1 if not good else 0 if tested else SKIPPED


def main():
    sys.exit(exit_status(*run_tests(sys.argv[1:])))

"""What the soak scripts share: arguments, seeded choices, one table at the end, a verdict.

They run at full length with PTRACE_PROF_SOAK=1, and otherwise do a small part. The seed is printed. The same seed gives
the same choices, though not the same interleaving with the machine's other work.
"""
import argparse
import os
import pathlib
import random
import sys

from . import interpreters, profiler

FULL = os.environ.get("PTRACE_PROF_SOAK") == "1"


def arguments(description, **amounts):
    """--seed, --python, and an option for each amount (full, slice), named after it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", help="minor versions, separated by commas")
    for name, (full, slice_) in amounts.items():
        parser.add_argument(f"--{name}", type=type(full), default=full if FULL else slice_)
    parsed = parser.parse_args()
    if not os.access(profiler.BINARY, os.X_OK):
        sys.exit(f"PTRACE_PROF_BIN={profiler.BINARY} is not there: build it first")
    parsed.random = random.Random(parsed.seed)
    return parsed


def chosen(parsed, slice_minors=interpreters.MINORS):
    """The cheapest interpreter of each minor asked for."""
    minors = parsed.python.split(",") if parsed.python else interpreters.MINORS if FULL else slice_minors
    found = []
    for minor in minors:
        available = interpreters.of_minor(minor)
        if available:
            found.append(available[0])
        else:
            print(f"CPython {minor} is not available here: not tested")
    if not found:
        sys.exit(77)
    return found


def limit_mib():
    """The limit for the collector. AddressSanitizer holds back freed memory (a quarter of a GiB)."""
    return 64 + (320 if b"__asan_init" in pathlib.Path(profiler.BINARY).read_bytes() else 0)


def two_cpus():
    """(for the target, for us). They differ, because on one CPU the target stands still while it is read."""
    cpus = sorted(os.sched_getaffinity(0))
    return (cpus[0], cpus[-1]) if len(cpus) > 1 else (None, None)


class Table:
    """Rows of text, printed as a table. Failures are rows too, and decide the exit status."""

    def __init__(self, *titles):
        self.rows = [titles]
        self.failures = []

    def add(self, *cells):
        self.rows.append(tuple(str(cell) for cell in cells))

    def fail(self, what):
        self.failures.append(what)
        print("FAILED:", what, flush=True)

    def end(self):
        widths = [max(len(row[column]) for row in self.rows) for column in range(len(self.rows[0]))]
        for row in self.rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        print(f"{len(self.failures)} failures")
        sys.exit(1 if self.failures else 0)

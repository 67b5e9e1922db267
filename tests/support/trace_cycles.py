"""Traces one target again and again, with the whole product, and checks after each trace that all is as before."""
import os
import pathlib
import re
import tempfile
import time

from . import interpreters, profiler
from .target_process import DEADLINE, TargetProcess, harm

DEMO = pathlib.Path(__file__).resolve().parents[1] / "demo"
DEMO_IN_ROOT = "/srv/demo"
TORCH = "usr/lib/python3/dist-packages/torch"
MODES = ("busy", "threads", "forks", "asyncio")
TRAINING = "training"
# What a target may have more of after many traces: pages of the stub, and pages of its own allocator from its own work.
GROWTH_KIB = {TRAINING: 16 * 1024, "": 2 * 1024}


def can_train(interpreter):
    folder = pathlib.Path(interpreter.root or "/", TORCH)
    tag = "cpython-" + interpreter.minor.replace(".", "")
    return interpreter.kind != "pyenv" and folder.is_dir() and any(tag in name for name in os.listdir(folder))


def trainers():
    """The interpreters with PyTorch, one for each version."""
    found = {}
    for one in interpreters.discover():
        if can_train(one):
            found.setdefault(one.version, one)
    return list(found.values())


def start(interpreter, mode, steps=0):
    if mode != TRAINING:
        return TargetProcess("injectable.py", interpreter, [mode])
    environment = {"PP_DEMO": DEMO_IN_ROOT if interpreter.in_root else str(DEMO)}
    return TargetProcess("training.py", interpreter, [steps], env=environment, folders={DEMO_IN_ROOT: DEMO})


def anonymous_kib(pid):
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def ours_in(pid):
    """Files and mappings of a capture that are in a process."""
    found = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{number}"))
        except FileNotFoundError:
            pass
    with open(f"/proc/{pid}/maps") as maps:
        found += [line.split(None, 5)[-1].strip() for line in maps if "memfd:ptrace-prof-ring" in line]
    return [name for name in found if name.startswith("/memfd:ptrace-prof")]


class Cycles:
    """Traces on one target process. `wrong`: sentences on what was not as it must be."""

    def __init__(self, interpreter, mode):
        self.interpreter, self.mode = interpreter, mode
        self.target = start(interpreter, mode)
        self.wrong, self.done, self.events, self.unmatched, self.starved, self.slowest = [], 0, 0, 0, 0, 0.0
        self.settled_kib = 0
        self._folder = tempfile.TemporaryDirectory(prefix="ptrace-prof-cycles-")

    def once(self, random):
        """One trace, and a look at the target after it."""
        options = random.choice(((), ("--c-calls",), ("--c-calls", "--min-duration", "1us"))) + (
            "--buffer", random.choice(("16M", "64M")), "-d", f"{random.randint(3, 30)}ms")
        output = pathlib.Path(self._folder.name, "out.pftrace")
        finished = profiler.run("record", "--mode", "trace", "--pid", self.target.pid, "-o", output, *options)
        self.done += 1
        counts = [re.search(pattern, finished.errors) for pattern in
                  (r"([\d,]+) calls? (?:and|or) returns?", r"returns without a call ([\d,]+)")]
        if finished.status != 0 and profiler.STARVED in finished.errors:
            self.starved += 1  # cut short, and the trace said so
        elif finished.status != 0 or not all(counts):
            self.wrong.append(f"trace {self.done}, {' '.join(options)}: {finished}")
        else:
            events, unmatched = (int(count.group(1).replace(",", "")) for count in counts)
            self.events += events
            self.unmatched += unmatched
        self._look()
        if self.done == 3:
            self.settled_kib = anonymous_kib(self.target.pid)

    def _look(self):
        begun = time.monotonic()
        self.target.tell("ping")
        self.target.expect("pong")
        self.slowest = max(self.slowest, time.monotonic() - begun)
        left = ours_in(self.target.pid)
        while left and time.monotonic() - begun < DEADLINE:  # the stub reports that it has left, then closes its memory
            time.sleep(0.001)
            left = ours_in(self.target.pid)
        self.wrong += [f"after trace {self.done}: {what}" for what in left + harm(self.target.pid)]

    def end(self):
        """Ends the target, and compares it with one that was never traced."""
        grown = anonymous_kib(self.target.pid) - self.settled_kib if self.done > 3 else 0
        if grown > GROWTH_KIB.get(self.mode, GROWTH_KIB[""]):
            self.wrong.append(f"{grown} KiB more memory after {self.done} traces than after three")
        status, output, errors = self.target.finish(), self.target.stdout(), self.target.stderr()
        expected = "ended well\n"
        if self.mode == TRAINING:
            with start(self.interpreter, self.mode, int(output.split()[0] if output else 0) or 1) as untraced:
                untraced.wait()
                expected = untraced.stdout()
        if (status, output, errors) != (0, expected, ""):
            self.wrong.append(f"ended with {status}, {output!r} instead of {expected!r}: {errors}")
        return grown

    def close(self):
        self.target.close()
        self._folder.cleanup()

"""The time from a request until the stub runs, and how long all threads are stopped: by inject_driver (tests/programs),
which enters a process like a capture and prints each time, and by captures, whose last stop also copies all stacks. And
how long the stub stays when its collector is killed."""
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field

from parts.target import TARGET_CORE
from parts.tools import REPOSITORY, TOOL_CORE
from parts.traced import Failed
from support import profiler, rings
from support.target_process import TargetProcess

DRIVER = os.environ.get("PP_INJECT_DRIVER", str(REPOSITORY / "build/bin/tests/inject_driver"))
MODES = (("busy", "busy"), ("main blocked", "sleeping"))  # name in the report, argument of the target
ORPHANS = 4  # processes of a mode: each takes most of a second
AGAIN = 5  # further entries into each process, with the stub already there
LONGEST_STOP = re.compile(r"(?:brief stop of|longest) ([\d,]+)")


@dataclass
class Entry:
    python: str
    minor: str
    mode: str
    loaded: list = field(default_factory=list)    # us until the stub ran, one per process
    resident: list = field(default_factory=list)
    stops: list = field(default_factory=list)     # us, the longest stop of each entry
    captures: list = field(default_factory=list)  # us, the longest stop of each capture
    orphaned: list = field(default_factory=list)  # us from the kill of a collector until the target is free
    failed: int = 0


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def _pin(pid):
    for tid in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(tid), {TARGET_CORE})


def _enter(target, entry):
    done = subprocess.run(["taskset", "-c", str(TOOL_CORE), DRIVER, "--count", str(1 + AGAIN), str(target.pid)],
                          capture_output=True, text=True, timeout=60)
    for line in done.stdout.splitlines():
        words = line.split()
        if words[0] != "ok":
            entry.failed += 1
            continue
        how, took, longest_stop = words[-5:-2]  # the name of the way before these can be several words
        (entry.resident if how == "resident" else entry.loaded).append(int(took))
        entry.stops.append(int(longest_stop))


def _record(target, duration):
    return profiler.Recording(target.pid, "--mode", "trace", "-d", duration, preexec=profiler.pinned_to(TOOL_CORE))


def _capture(target, entry):
    run = _record(target, "20ms")
    try:
        finished = run.wait()
    finally:
        run.remove()
    longest = LONGEST_STOP.search(finished.errors)
    if longest:
        entry.captures.append(int(longest[1].replace(",", "")))
    else:
        entry.failed += 1


def _orphan(target, entry):
    run = _record(target, "1h")
    try:
        run.shows("MainThread")  # reported once the window has begun
        for pid in run.children():
            os.kill(pid, signal.SIGKILL)
        killed = time.monotonic()
        while rings.are_mapped(target.pid) and time.monotonic() < killed + 10:
            time.sleep(0.001)
        entry.orphaned.append(round(1e6 * (time.monotonic() - killed)))
    finally:
        run.remove()


def measure(interpreter, processes, deadline):
    """[Entry], one per mode; fewer processes if the deadline comes first, with the same share for each mode."""
    if not os.access(DRIVER, os.X_OK):
        raise Failed(f"The way in was not measured: {DRIVER} is missing.")
    found = []
    for number, (words, mode) in enumerate(MODES):
        until = time.monotonic() + (deadline - time.monotonic()) / (len(MODES) - number)
        entry = Entry(f"{interpreter.version} ({interpreter.kind})", interpreter.minor, words)
        for _ in range(processes):
            if time.monotonic() > until:
                break
            with TargetProcess("injectable.py", interpreter, [mode]) as target:
                if mode == "sleeping":
                    target.settle()
                _pin(target.pid)
                _enter(target, entry)
                _capture(target, entry)
                if len(entry.orphaned) < ORPHANS:
                    _orphan(target, entry)
        found.append(entry)
    return found

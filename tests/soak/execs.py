"""A process that becomes another program again and again, each time by a thread that is not the main one, while
recorded.

An exec waits until the tracer of a thread of that process has noted its end, and PTRACE_SEIZE waits for the exec (man 2
ptrace). No exec may be held up, and no recording may hang.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import profiler, soak  # noqa: E402
from support.target_process import DEADLINE, TARGETS  # noqa: E402

STAMP = os.environ.get("PP_EXEC_STAMP", "")
LONGEST_MS = 50 if soak.FULL else 500  # ./dev test runs on busy machines
MODES = {"default": (), "1 kHz": ("--rate", "1khz"), "together": ("--blocking", "--rate", "1khz"),
         "trace": ("--mode", "trace"), "no stops": ("--nonblocking", "--rate", "1khz")}
# Wrong messages about a process that execs: it has not ended, and is never without Python for long.
ENDED = re.compile(r"process \d+ ended|which does not run Python")
SAMPLES = re.compile(r"^([\d,]+) (?:samples?|calls? (?:and|or) returns?)", re.MULTILINE)


def record(pid, options, folder, deadline):
    """One recording: (number of samples or calls in it, output). Raises subprocess.TimeoutExpired if it hangs."""
    run = profiler.Running("record", "--pid", pid, "-d", "1s", "-o", f"{folder}/out.pftrace", *options)
    finished = run.wait(deadline)
    said = finished.output + finished.errors
    counted = SAMPLES.search(said)
    return int(counted[1].replace(",", "")) if counted else 0, said


def meet(interpreter, options, count, folder):
    """(delays in ms, number of recordings, what they hold in all, what went wrong or None)."""
    file = pathlib.Path(folder) / "delays"
    file.unlink(missing_ok=True)
    target = subprocess.Popen([interpreter.path, "-S", "-E", str(TARGETS / "execs.py"), STAMP, str(file), str(count)],
                              start_new_session=True)
    recordings, held, wrong = 0, 0, None
    try:
        time.sleep(0.05)
        while target.poll() is None and wrong is None:
            try:
                taken, said = record(target.pid, options, folder, DEADLINE)
                held, recordings = held + taken, recordings + 1
                if target.poll() is None and ENDED.search(said):
                    wrong = f"it has not ended: {said}"
            except subprocess.TimeoutExpired:
                wrong = "a recording hangs"
        if wrong is None and target.wait() != 0:
            wrong = f"the target ended with {target.wait()}"
    finally:
        target.kill()
        target.wait()
    delays = [int(line) / 1e6 for line in file.read_text().split()] if file.exists() else []
    if wrong is None and len(delays) != count:
        wrong = f"{len(delays)} of {count} execs"
    return delays, recordings, held, wrong


def main():
    parsed = soak.arguments(__doc__, count=(10000, 300))
    if not os.access(STAMP, os.X_OK):
        sys.exit(f"PP_EXEC_STAMP={STAMP} is not there: build it first")
    chosen = [one for one in soak.chosen(parsed, ("3.11", "3.13")) if not one.in_root]
    table = soak.Table("mode", "CPython", "execs", "recordings", "samples or events", "median ms", "99 % ms", "longest ms")
    each = max(parsed.count // (len(chosen) * len(MODES)), 1)
    with tempfile.TemporaryDirectory() as folder:
        for interpreter in chosen:
            for mode, options in MODES.items():
                delays, recordings, held, wrong = meet(interpreter, options, each, folder)
                delays.sort()
                quantiles = [f"{delays[min(int(len(delays) * share), len(delays) - 1)]:.2f}" for share in (0.5, 0.99, 1)] \
                    if delays else ["-"] * 3
                table.add(mode, interpreter.minor, len(delays), recordings, held, *quantiles)
                if wrong:
                    table.fail(f"{interpreter}, {mode}: {wrong}")
                elif delays[-1] > LONGEST_MS:
                    table.fail(f"{interpreter}, {mode}: an exec took {delays[-1]:.1f} ms")
    table.end()


if __name__ == "__main__":
    main()

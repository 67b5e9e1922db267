"""Samples processes that rewrite their own interpreter structures: an imitation of CPython 3.13, and real interpreters.
Also traces the calls of processes that scribble on the memory that they share with us.

The command must end by itself with a trace, and the collector must stay small, whatever bytes it read.
"""
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import profiler, soak  # noqa: E402
from support.target_process import TargetProcess, harm  # noqa: E402

RUNTIME = os.environ.get("PP_HOSTILE_RUNTIME", str(pathlib.Path(profiler.BINARY).parent / "tests/hostile_runtime"))
# A target with false data may be refused or lost at any time: these statuses are all documented.
ALLOWED = (0, 5, 6)
ALLOWED_OF_TRACING = (*ALLOWED, 10)  # the shared memory may be too corrupt to use
MOST_LOST = 10_000_000_000  # no second has room for more
SAMPLING = ("--rate", "5khz", "--max-overhead", "off", "--max-depth", "500")
TRACING = (("records", "1M"), ("records", "64M"), ("all", "1M"), ("all", "64M"))  # (what is scribbled on, --buffer)
SHRUNK = 99  # the exit status of a target that could shrink the shared memory
OPTIONS = (("--idle", "all"), ("--idle", "all", "--no-stops"), ("--blocking", "--idle", "all"))


def peak_rss(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            return max([int(line.split()[1]) for line in file if line.startswith("VmHWM:")], default=0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def watch(run, bystander):
    """The peak memory of the collector, watched until the run ends. Meanwhile the bystander must never be traced."""
    peak = 0
    while run.process.poll() is None:
        peak = max([peak, *(peak_rss(pid) for pid in run.children())])
        assert not harm(bystander), harm(bystander)
        time.sleep(0.01)
    return peak


def most_lost(output):
    return max([int(number.replace(",", "")) for number in re.findall(r"lost ([\d,]+)", output)], default=0)


def record(target, seconds, options, bystander, allowed=ALLOWED):
    """(what went wrong or None, the peak of memory, the size of the trace, the status)"""
    run = profiler.Recording(target.pid, "--duration", f"{seconds}s", *options)
    try:
        peak = watch(run, bystander)
        finished = run.wait()
        size = run.trace.stat().st_size if run.trace.exists() else 0
        if finished.status not in allowed or most_lost(finished.errors) > MOST_LOST:
            return f"ended badly: {finished}", peak, size, finished.status
        if size and profiler.run("export", run.trace, "--format", "collapsed", "-o", os.devnull).status != 0:
            return "the trace cannot be exported", peak, size, finished.status
        return None, peak, size, finished.status
    except subprocess.TimeoutExpired:
        return "hangs", 0, 0, 0
    except AssertionError as error:
        return f"a bystander was harmed: {error}", 0, 0, 0
    finally:
        run.remove()


def one(name, start, seconds, options, bystander, table):
    """Samples again and again until the time is over: each time the target is discovered anew."""
    deadline = time.monotonic() + seconds
    rounds = peak = size = 0
    with start() as target:
        while time.monotonic() < deadline and target.alive():
            wrong, rss, written, status = record(target, max(1, min(10, seconds // 3)), (*SAMPLING, *options), bystander)
            rounds, peak, size = rounds + 1, max(peak, rss), size + written
            dumped = profiler.run("dump", "--pid", target.pid)
            if wrong is None and dumped.status not in ALLOWED and target.alive():
                wrong = f"dump: {dumped}"
            if wrong:
                table.fail(f"{name}, {' '.join(options)}: {wrong}")
            if status != 0:
                deadline -= 0.5  # it was refused at once: so that this ends
        if (found := harm(target.pid)) and target.alive():
            table.fail(f"{name}: {found}")
        if peak > soak.limit_mib() * 1024:
            table.fail(f"{name}: the collector took {peak // 1024} MiB")
    table.add(name, " ".join(options), rounds, f"{peak / 1024:.1f}", f"{size / 1024:.0f}")


def trace(interpreter, seconds, parsed, bystander, table):
    """Each trace is of a new process, because what a process did to itself is not undone."""
    for what, buffer in TRACING:
        deadline = time.monotonic() + seconds / len(TRACING)
        rounds = peak = size = died = 0
        while rounds == 0 or time.monotonic() < deadline:
            seed = str(parsed.random.randrange(1 << 30))
            with TargetProcess("ring_vandal.py", interpreter, [seed, what]) as target:
                wrong, rss, written, _ = record(target, 1, ("--mode", "trace", "--buffer", buffer), bystander,
                                               ALLOWED_OF_TRACING)
                if not target.alive():
                    died += 1
                    wrong = wrong or ("it could shrink what we share" if target.wait() == SHRUNK else None)
                elif (found := harm(target.pid)) and target.alive():  # it may have died of it just now
                    wrong = wrong or str(found)
            rounds, peak, size = rounds + 1, max(peak, rss), size + written
            if wrong:
                table.fail(f"ring vandal on {interpreter}, {what}, {buffer}, seed {seed}: {wrong}")
        if peak > (soak.limit_mib() + int(buffer[:-1])) * 1024:
            table.fail(f"ring vandal on {interpreter}: the collector took {peak // 1024} MiB")
        table.add(f"ring vandal on {interpreter.version}", f"{what}, {buffer}; {died} died of it", rounds, f"{peak / 1024:.1f}",
                  f"{size / 1024:.0f}")


def main():
    parsed = soak.arguments(__doc__, seconds=(60, 6))
    table = soak.Table("target", "options", "recordings", "peak RSS MiB", "traces KiB")
    interpreters = soak.chosen(parsed, ("3.9", "3.12", "3.14"))
    with TargetProcess("longsleep.py", interpreters[0]) as other:
        for number, options in enumerate(OPTIONS):
            seed = str(parsed.seed + number)
            one(f"pretender, seed {seed}", lambda: TargetProcess(RUNTIME, None, [seed, other.pid]),
                max(1, parsed.seconds // len(OPTIONS)), options, other.pid, table)
        for interpreter in interpreters:
            seed = str(parsed.random.randrange(1 << 30))
            one(f"vandal on {interpreter.version}", lambda: TargetProcess("vandal.py", interpreter, [seed]),
                max(1, parsed.seconds // 6), ("--idle", "all"), other.pid, table)
        for interpreter in interpreters:
            trace(interpreter, parsed.seconds if soak.FULL else 1, parsed, other.pid, table)
    table.end()


main()

"""Targets that exit, exec, fork, abort or are killed at random moments while they are recorded.

Each time: the recording ends by itself, well or with a documented status, and what it wrote can be exported.
"""
import collections
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import profiler, soak  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402

# fate: the exit status that the target must show, profiled or not
FATES = {"leave": 3, "leave_at_once": 4, "become_another": 0, "become_no_python": 5, "leave_a_child": 6,
         "kill_itself": -signal.SIGKILL, "abort": -signal.SIGABRT, "exec_in_thread": 0, "killed_by_us": -signal.SIGKILL}
# The first process of a PID namespace cannot kill itself, and a root may lack a shell.
NOT_IN_ROOTS = ("kill_itself", "abort", "become_no_python")
EARLY = (3, 5, 6)  # no such process, not (yet, or no longer) Python, ended before anything was recorded
MODES = ((), ("--no-subprocesses",), ("--blocking",), ("--no-stops", "--idle", "all"))


def meet(interpreter, fate, seed, mode, moment):
    """Returns (what went wrong or None, exit status of the command)."""
    script_fate = "leave" if fate == "killed_by_us" else fate
    with TargetProcess("fates.py", interpreter, [script_fate, seed]) as target:
        run = profiler.Recording(target.pid, "--rate", "5khz", "--max-overhead", "off", *mode)
        try:
            if seed % 4:  # else at any moment, perhaps before we have found the interpreter
                run.begun()
            if fate == "killed_by_us":
                time.sleep(moment)
                target.signal(signal.SIGKILL)
            else:
                target.tell("go")
            status = target.wait()
            finished = run.wait()
            return verdict(run, fate, status, finished, target.stderr()), finished.status
        except subprocess.TimeoutExpired as hang:
            return f"hangs: {hang}", None
        finally:
            run.remove()


def verdict(run, fate, status, finished, errors):
    if status not in (FATES[fate], 128 - FATES[fate]):  # a root's first process passes a signal on as 128 + its number
        return f"the target ended with {status}: {errors}"
    if finished.status not in (0, *EARLY):
        return f"the command failed: {finished}"
    if finished.status == 0 and run.trace.exists() and not run.stacks():
        return f"an empty trace: {finished}"
    return None


def main():
    parsed = soak.arguments(__doc__, count=(200, 10))
    chosen = soak.chosen(parsed)
    outside = [one for one in chosen if not one.in_root]
    table = soak.Table("fate", "times", "recorded", "ended too early", "failures")
    counts = collections.defaultdict(collections.Counter)
    fates = [fate for fate in FATES if outside or fate not in NOT_IN_ROOTS]
    for number in range(parsed.count):
        fate, interpreter = fates[number % len(fates)], parsed.random.choice(chosen)
        if interpreter.in_root and fate in NOT_IN_ROOTS:
            interpreter = parsed.random.choice(outside)
        mode, moment = parsed.random.choice(MODES), parsed.random.uniform(0, 0.5)
        wrong, status = meet(interpreter, fate, parsed.random.randrange(1 << 30), mode, moment)
        counts[fate]["times"] += 1
        counts[fate]["recorded"] += status == 0
        counts[fate]["early"] += status in EARLY
        if wrong:
            counts[fate]["failures"] += 1
            table.fail(f"{interpreter}, {fate}, {' '.join(mode)}, after {moment:.3f} s: {wrong}")
    if sum(each["recorded"] for each in counts.values()) * 2 < parsed.count:
        table.fail("less than half of the recordings recorded anything")
    for fate in fates:
        table.add(fate, *(counts[fate][key] for key in ("times", "recorded", "early", "failures")))
    table.end()


main()

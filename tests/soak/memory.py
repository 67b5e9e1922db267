"""The collector's memory while it samples for long: it is bounded, and the same at the end as after the beginning."""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import profiler, soak  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402

TARGETS = ("oracle_nested.py", "oracle_code_reuse.py", "thread_churn.py", "fork_churn.py", "heartbeat.py")
ROOM_MIB = 8  # what caches of names may still take after the first third


def resident(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            return next((int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS:")), 0.0)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def watch(interpreter, script, seconds, table):
    arguments = [0] if script == "fork_churn.py" else []
    with TargetProcess(script, interpreter, arguments) as target:
        run = profiler.Recording(target.pid, "--duration", f"{seconds}s", "--rate", "max", "--max-overhead", "off",
                                 "--idle", "all")
        readings = []
        while run.process.poll() is None:
            readings.append(max([resident(pid) for pid in run.children()], default=0.0))
            time.sleep(seconds / 200)
        finished = run.wait()
        run.remove()
    if finished.status != 0:
        table.fail(f"{interpreter}, {script}: {finished}")
        return
    third = max(1, len(readings) // 3)
    early, late = max(readings[:third]), max(readings[third:], default=0.0)
    if max(readings) > soak.limit_mib():
        table.fail(f"{interpreter}, {script}: {max(readings):.1f} MiB")
    if soak.FULL and late > early + ROOM_MIB:
        table.fail(f"{interpreter}, {script}: grew from {early:.1f} to {late:.1f} MiB")
    samples = next((line.split(" samples")[0].split()[-1] for line in finished.errors.splitlines() if " samples in" in line), "?")
    table.add(interpreter.version, script, samples, f"{early:.1f}", f"{late:.1f}")


def main():
    parsed = soak.arguments(__doc__, seconds=(120, 2))
    table = soak.Table("CPython", "target", "samples", "first third MiB", "rest MiB")
    for interpreter in soak.chosen(parsed, ("3.12",)) if parsed.python or not soak.FULL else soak.chosen(parsed)[-1:]:
        for script in TARGETS:
            watch(interpreter, script, parsed.seconds, table)
    table.end()


main()

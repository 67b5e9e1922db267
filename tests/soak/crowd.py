"""`ptrace-prof ps` among thousands of processes: it must find every Python with its rank; how long that takes is shown.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import profiler, soak  # noqa: E402
from support.target_process import DEADLINE  # noqa: E402

WORKER = ("import os, sys; os.environ.update(RANK=sys.argv[1], WORLD_SIZE=sys.argv[2]); print('ready', flush=True); "
          "sys.stdin.read()")
RUNS = 5


def crowd(count):
    """The cheapest possible processes that have nothing to do with Python."""
    sleep = shutil.which("sleep")
    return [os.posix_spawn(sleep, ["sleep", "3600"], {}) for _ in range(count)]


def workers(interpreter, count):
    started = [subprocess.Popen([interpreter.path, "-S", "-c", WORKER, str(rank), str(count)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE) for rank in range(count)]
    for worker in started:
        assert worker.stdout.readline() == b"ready\n"
    return started


def look():
    """(rows, seconds, CPU seconds of all of it)"""
    before, begin = os.times(), time.monotonic()
    rows = json.loads(profiler.must("ps", "--json", "--host", "none").output)
    seconds, after = time.monotonic() - begin, os.times()
    return rows, seconds, sum(after[2:4]) - sum(before[2:4])


def judge(interpreter, started, bystanders, table):
    wanted = {worker.pid: rank for rank, worker in enumerate(started)}
    times = []
    for _ in range(RUNS):
        rows, *spent = look()
        found = {row["pid"]: row for row in rows}
        for pid, rank in wanted.items():
            row = found.get(pid, {})
            if not row.get("profilable") or (row["rank"], row["world_size"]) != (rank, len(wanted)):
                table.fail(f"{interpreter}: worker {rank} is listed as {row}")
        if any(pid in found for pid in bystanders):
            table.fail("a sleep is listed as a Python")
        times.append(spent)
    wall, cpu = (sorted(column) for column in zip(*times))
    table.add(interpreter.version, str(len(bystanders)), str(len(started)), f"{wall[0] * 1000:.0f}",
              f"{wall[RUNS // 2] * 1000:.0f}", f"{cpu[RUNS // 2] * 1000:.0f}")


def main():
    parsed = soak.arguments(__doc__, processes=(5000, 300), workers=(200, 10))
    table = soak.Table("CPython", "others", "workers", "best ms", "median ms", "CPU ms")
    bystanders = crowd(parsed.processes)
    try:
        for interpreter in soak.chosen(parsed, ("3.11",)):
            if interpreter.in_root:
                continue
            started = workers(interpreter, parsed.workers)
            try:
                judge(interpreter, started, set(bystanders), table)
            finally:
                for worker in started:
                    worker.kill()
                    worker.communicate(timeout=DEADLINE)
    finally:
        for pid in bystanders:
            os.kill(pid, 9)
        for pid in bystanders:
            os.waitpid(pid, 0)
    table.end()


main()

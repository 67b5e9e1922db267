"""Kills the command or the collector with SIGKILL at random moments of a recording; the target must not notice.

After each: alive, untraced, not stopped, still beating, nothing of ours left running. Once per target, in the end: exit
status and output as if never profiled; and where calls were traced, the tracer has left and the next one may come.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import profiler, soak  # noqa: E402
from support.target_process import DEADLINE, TargetProcess, harm  # noqa: E402

KILLS_PER_TARGET = 20
MODES = (("--rate", "5khz", "--max-overhead", "off"), ("--rate", "max", "--max-overhead", "off"),
         ("--rate", "1khz", "--blocking", "--max-overhead", "off"))
TRACING = (("--mode", "trace", "--buffer", "16M"), ("--mode", "trace", "--buffer", "16M", "--c-calls"))


def gone(pid):
    """Nobody of that pid, or a zombie that its new parent has not fetched yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def within_deadline(condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def kill_once(target, victim, mode, moment):
    """Returns a list of what went wrong."""
    run = profiler.Recording(target.pid, *mode)
    try:
        if not within_deadline(lambda: run.children() or run.process.poll() is not None) or not run.children():
            return [f"no collector came up: {run.wait()}"]
        collectors = run.children()
        time.sleep(moment)
        for pid in collectors if victim == "collector" else [run.pid]:
            with contextlib.suppress(ProcessLookupError):  # ended by itself: refused, and the words say why
                os.kill(pid, signal.SIGKILL)
        finished = run.wait()
        wrong = []
        if victim == "collector" and finished.status == -signal.SIGKILL:
            wrong.append("the command died of the collector's death")
        if not within_deadline(lambda: all(gone(pid) for pid in collectors)):
            wrong.append("the collector outlived its command")
        if not within_deadline(lambda: not harm(target.pid)):
            wrong += harm(target.pid)
        target.tell("ping")
        target.expect("pong")
        return wrong
    except subprocess.TimeoutExpired:
        return ["the command hangs"]
    finally:
        run.remove()


def shared_memory(pid):
    """Whether a tracer's rings are mapped."""
    with open(f"/proc/{pid}/maps") as file:
        return "ptrace-prof-ring" in file.read()


def trace_again(target):
    """What is wrong with a trace after the others: it must work, once the last one's lease is over."""
    wrong = []
    if not within_deadline(lambda: not shared_memory(target.pid)):
        wrong.append("the tracer did not leave")
    with tempfile.TemporaryDirectory() as folder:
        finished = profiler.run("record", "--mode", "trace", "--pid", target.pid, "-d", "100ms", "-o", f"{folder}/out.pftrace")
    if finished.status != 0:
        wrong.append(f"the next trace: {finished}")
    return wrong + ([] if not shared_memory(target.pid) else ["the last tracer did not leave"])


def kill_some(interpreter, victim, mode, count, random, table):
    with TargetProcess("heartbeat.py", interpreter) as target:
        for number in range(count):
            # Most of what can go wrong does so at the beginning; some of it later.
            moment = random.expovariate(1 / 0.03) if random.random() < 0.7 else random.uniform(0, 0.4)
            for wrong in kill_once(target, victim, mode, moment):
                table.fail(f"{interpreter}, {victim}, {' '.join(mode)}, kill {number} after {moment:.4f} s: {wrong}")
        if mode in TRACING:
            for wrong in trace_again(target):
                table.fail(f"{interpreter}, {victim}, {' '.join(mode)}: {wrong}")
        if target.finish() != 0 or target.stdout() != "ended well with 3 threads\n" or target.stderr():
            table.fail(f"{interpreter}: ended as it should not: {target.stdout()}{target.stderr()}")


def main():
    parsed = soak.arguments(__doc__, count=(200, 10))
    chosen = soak.chosen(parsed)
    table = soak.Table("what", "victim", "kills", "failures")
    for what, modes in (("samples", MODES), ("calls", TRACING)):
        for victim in ("command", "collector"):
            before, done = len(table.failures), 0
            while done < parsed.count:
                count = min(KILLS_PER_TARGET if soak.FULL else 4, parsed.count - done)
                kill_some(parsed.random.choice(chosen), victim, parsed.random.choice(modes), count, parsed.random, table)
                done += count
            table.add(what, victim, done, len(table.failures) - before)
    table.end()


main()

"""Kills the command or the collector with SIGKILL at random moments of a recording; the target must not notice. Samples
are taken undisturbed, or while signals, SIGSTOP and SIGCONT, or a debugger come and go.

After each kill the target is alive, untraced, not stopped and still beating, and nothing of ours runs. Once per target,
in the end: exit status and output are as if never profiled; and if calls were traced, the tracer has left and the next
one may come. Traces use every way into a target (WAYS; --ways chooses some), each tried on the versions that have it.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import interpreters, profiler, rings, soak, unrest  # noqa: E402
from support.children import children_of  # noqa: E402
from support.target_process import DEADLINE, TargetProcess, harm  # noqa: E402

KILLS_PER_TARGET = 20
MODES = (("--rate", "5khz", "--max-overhead", "off"), ("--rate", "max", "--max-overhead", "off"),
         ("--rate", "1khz", "--blocking", "--max-overhead", "off"))
TRIES = 5
DRIVER = os.environ.get("PP_INJECT_DRIVER", "")  # tests/programs/inject_driver.cc
TRACING = (("--mode", "trace", "--buffer", "16M"), ("--mode", "trace", "--buffer", "16M", "--c-calls"))
THROTTLED = (("--mode", "trace", "--buffer", "1M", "--on-full", "throttle"),)  # the target waits, most of the time


@dataclass(frozen=True)
class Way:
    """A way into a target, the targets that it is tried on, and the program that tries it."""
    name: str
    minors: tuple
    script: str = "heartbeat.py"  # its main thread waits, three others work
    arguments: tuple = ()
    ended: str = "ended well with 3 threads\n"
    resident: bool = False  # the tracer is there before the first kill
    by: str = ""  # inject_driver with this strategy; else the command
    modes: tuple = TRACING
    whole_only: bool = False  # it fails at times, which only a full run, or a request for it, is to find


WAYS = (
    Way("main queue", interpreters.span("3.8", "3.11"), "injectable.py", ("busy",), "ended well\n"),
    Way("frame hook", interpreters.span("3.8", "3.11")),
    Way("queue", interpreters.span("3.12", "3.13")),
    Way("queue 3.14", interpreters.span("3.14")),
    Way("resident", interpreters.TELLING, resident=True),
    Way("script", interpreters.span("3.14"), by="script"),
    Way("signal handlers", interpreters.MINORS, "injectable.py", ("alarms",), "ended well\n",
        whole_only=True),  # they raise all the time
    Way("event loop", interpreters.TELLING, "injectable.py", ("asyncio",), "ended well\n"),
    Way("forks", interpreters.TELLING, "injectable.py", ("forks",), "ended well\n"),
    Way("throttled", interpreters.TELLING, modes=THROTTLED),
)


class Hits:
    """How many of the kills hit a process at work."""
    count = 0


def gone(pid):
    """Whether no process has that PID, or only a zombie that its new parent has not reaped yet."""
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


def kill_once(target, victim, mode, moment, disturbance=None):
    """Returns a list of what went wrong."""
    with unrest.around(target.pid, disturbance):
        wrong = kill_run(target, victim, mode, moment)
    if not within_deadline(lambda: not harm(target.pid)):
        wrong += harm(target.pid)
    target.tell("ping")
    target.expect("pong")
    return wrong


def kill_run(target, victim, mode, moment):
    run = profiler.Recording(target.pid, *mode)
    try:
        if not within_deadline(lambda: run.children() or run.process.poll() is not None) or not run.children():
            return [f"no collector came up: {run.wait()}"]
        collectors = run.children()
        time.sleep(moment)
        Hits.count += run.process.poll() is None
        keepers = [keeper for pid in collectors for keeper in children_of(pid)]  # of its scripts
        for pid in collectors if victim == "collector" else [run.pid]:
            with contextlib.suppress(ProcessLookupError):  # ended by itself: refused, with a message that says why
                os.kill(pid, signal.SIGKILL)
        finished = run.wait()
        wrong = []
        if victim == "collector" and finished.status == -signal.SIGKILL:
            wrong.append("the command died of the collector's death")
        if not within_deadline(lambda: all(gone(pid) for pid in (*collectors, *keepers))):
            wrong.append("the collector outlived its command")
        return wrong
    except subprocess.TimeoutExpired:
        return ["the command hangs"]
    finally:
        run.remove()


def trace_again(target):
    """What is wrong with a trace after the others: it must work, once the lease of the last one has expired."""
    wrong = []
    if not within_deadline(lambda: not rings.are_mapped(target.pid)):
        wrong.append("the tracer did not leave")
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory() as folder:
            finished = profiler.run("record", "--mode", "trace", "--pid", target.pid, "-d", "100ms", "-o", f"{folder}/out.pftrace")
        if finished.status == 0 or profiler.STARVED not in finished.errors:
            break
    if finished.status != 0:
        wrong.append(f"the next trace: {finished}")
    return wrong + ([] if not rings.are_mapped(target.pid) else ["the last tracer did not leave"])


def drive(target, by, *options):
    return subprocess.Popen([DRIVER, "--by", by, "--events", "50", *options, str(target.pid)], stdout=subprocess.PIPE,
                            text=True)


def kill_driver(target, by, moment):
    """Like kill_once, with a program that only brings the tracer in and out."""
    run = drive(target, by, "--count", "3")
    keepers = []
    try:
        run.wait(moment)
    except subprocess.TimeoutExpired:
        keepers = children_of(run.pid)
        run.kill()
    run.communicate()
    Hits.count += run.returncode == -signal.SIGKILL
    wrong = []
    if not within_deadline(lambda: all(gone(pid) for pid in keepers)):
        wrong.append("who keeps the scripts outlived the driver")
    if not within_deadline(lambda: not harm(target.pid)):
        wrong += harm(target.pid)
    target.tell("ping")
    target.expect("pong")
    return wrong


def drive_again(target, by):
    run = drive(target, by, "--count", "2")
    output = run.communicate(timeout=DEADLINE)[0]
    return [] if run.returncode == 0 else [f"the next one: {output}"]


def random_moment(random):
    """Most errors happen at the beginning, some of them later."""
    return random.expovariate(1 / 0.03) if random.random() < 0.7 else random.uniform(0, 0.4)


def check_end(target, what, ended, table):
    if target.finish() != 0 or target.stdout() != ended or target.stderr():
        table.fail(f"{what}: ended as it should not: {target.stdout()}{target.stderr()}")


def kill_samples(interpreter, victim, count, random, table):
    mode = random.choice(MODES)
    disturbance = random.choice((None, *unrest.KINDS))
    what = f"{interpreter}, {victim}, {' '.join(mode)}, {disturbance or 'undisturbed'}"
    with TargetProcess("heartbeat.py", interpreter) as target:
        for number in range(count):
            moment = random_moment(random)
            for wrong in kill_once(target, victim, mode, moment):
                table.fail(f"{what}, kill {number} after {moment:.4f} s: {wrong}")
        check_end(target, what, "ended well with 3 threads\n", table)


def kill_traces(way, interpreter, victim, count, random, table):
    mode = random.choice(way.modes)
    what = f"{way.name}, {interpreter}, {victim}, {' '.join(mode)}"
    with TargetProcess(way.script, interpreter, way.arguments) as target:
        if way.resident:
            for wrong in trace_again(target):
                table.fail(f"{what}: the first one: {wrong}")
        for number in range(count):
            moment = random_moment(random)
            failures = kill_driver(target, way.by, moment) if way.by else kill_once(target, victim, mode, moment)
            for wrong in failures:
                table.fail(f"{what}, kill {number} after {moment:.4f} s: {wrong}")
        for wrong in drive_again(target, way.by) if way.by else trace_again(target):
            table.fail(f"{what}: {wrong}")
        check_end(target, what, way.ended, table)


def of_way(way, chosen):
    if way.by and not os.access(DRIVER, os.X_OK):
        print(f"{way.name}: PP_INJECT_DRIVER={DRIVER} is not there: not tested")
        return []
    found = [interpreter for interpreter in chosen if interpreter.release in way.minors]
    if not found:
        print(f"{way.name}: no interpreter of {', '.join(way.minors)}: not tested")
    return found


def in_parts(count, part, do):
    """Uses a new target every now and then. Returns the number of kills, and how many hit a process at work."""
    done, Hits.count = 0, 0
    while done < count:
        do(min(part, count - done))
        done += min(part, count - done)
    return done, Hits.count


def main():
    parsed = soak.arguments(__doc__, count=(200, 10), traces=(500, 4), ways=("", ""))
    chosen = soak.chosen(parsed)
    table = soak.Table("what", "victim", "kills", "at work", "failures")
    random = parsed.random
    ways = parsed.ways.split(",") if parsed.ways else [way.name for way in WAYS if soak.FULL or not way.whole_only] + ["samples"]
    for victim in ("command", "collector") if "samples" in ways else ():
        before = len(table.failures)
        done = in_parts(parsed.count, KILLS_PER_TARGET if soak.FULL else 4,
                        lambda part, who=victim: kill_samples(random.choice(chosen), who, part, random, table))
        table.add("samples", victim, *done, len(table.failures) - before)
    for way in (way for way in WAYS if way.name in ways):
        interpreters = of_way(way, chosen)
        for victim in (("driver",) if way.by else ("command", "collector")) if interpreters else ():
            before = len(table.failures)
            done = in_parts(parsed.traces if way.by else parsed.traces // 2, KILLS_PER_TARGET if soak.FULL else 2,
                            lambda part, one=way, found=interpreters, who=victim: kill_traces(
                                one, random.choice(found), who, part, random, table))
            table.add(way.name, victim, *done, len(table.failures) - before)
    table.end()


main()

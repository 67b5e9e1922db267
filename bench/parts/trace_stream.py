"""The path of the events outside of the target: how fast they are drained and written, how large they are, and how soon
all is over."""
import json
import os
import subprocess
import time
from dataclasses import dataclass, field

from parts.tools import REPOSITORY
from parts.traced import Failed, Trace, Worker, kept
from support import profiler

REPLAY = REPOSITORY / "build/bin/bench/call_replay_bench"
MANY = 10_000_000
BUFFER = "1G"  # all events come in a row, on one of few threads
BEFORE_STOP = 0.02  # seconds of work before the trace is asked to end


@dataclass
class Whole:
    """A trace of many events in a row, to its file."""
    python: str
    events: int = 0
    lost: int = 0
    collector: float = 0.0  # seconds of CPU of the collector, which drains, encodes and writes to a pipe
    cpu: float = 0.0        # the collector and the command, which counts, stores and copies
    size: int = 0
    complete: float = 0.0   # seconds from the last event until the file was complete

    @property
    def rate(self):
        return self.events / self.collector if self.collector else 0.0

    @property
    def rate_of_all(self):
        return self.events / self.cpu if self.cpu else 0.0

    @property
    def each(self):
        return self.size / self.events if self.events else float("nan")


@dataclass
class Leaving:
    python: str
    microseconds: list = field(default_factory=list)  # from the last event until no hook was left


def replay():
    """{benchmark: (events per second, bytes per event or None)} of bench/call_replay_bench.cc."""
    if not os.access(REPLAY, os.X_OK):
        raise Failed(f"Replaying alone was not measured: {REPLAY} is missing.")
    done = subprocess.run([REPLAY, "--benchmark_format=json", "--benchmark_min_time=0.5"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{REPLAY.name} ended with {done.returncode}: {done.stderr.strip()[-200:]}")
    programs = {"0": "fib", "1": "like a training script"}
    found = {}
    for one in json.loads(done.stdout)["benchmarks"]:
        name, _, program = one["name"].partition("/")
        found[f"{name[3:]}, {programs[program]}"] = (one["events_per_s"], one.get("bytes_per_event"))
    return found


def _reap(process):
    """Waits for the process and returns the CPU seconds of it and its children."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def whole(interpreter):
    found = Whole(f"{interpreter.version} ({interpreter.kind})")
    with Worker(interpreter) as worker, kept(Trace(worker, "--buffer", BUFFER)) as trace:
        made, at = map(int, worker.ask("events", MANY).split())
        trace.interrupt()
        found.cpu = _reap(trace.process)
        found.complete = time.monotonic() - at / 1e9
        trace.ended()
        found.events = trace.number(r"([\d,]+) calls? (?:and|or) returns?") or 0
        found.lost = trace.lost
        found.collector = trace.decimal(r"overhead ([\d.]+) %") / 100 * trace.decimal(r" in ([\d.]+) s \(")
        found.size = trace.file.stat().st_size
    if found.events + found.lost < made:
        raise Failed(f"{found.events} of {made} events in the trace, {found.lost} lost")
    return found


def _last_event(trace):
    """CLOCK_REALTIME in ns of the last event that the trace holds."""
    document = json.loads(profiler.must("export", trace, "--format", "chrome", "-o", "-").output)
    base = document["baseTimeNanoseconds"]
    ends = [event["ts"] + event["dur"] for event in document["traceEvents"]
            if event.get("cat") == "python_function" and event["args"].get("finished", True)]
    return base + max(ends) * 1000


def leaving(interpreter, times):
    """The time from the last event in a trace until the target finds no hook in itself."""
    found = Leaving(f"{interpreter.version} ({interpreter.kind})")
    with Worker(interpreter) as worker:
        for _ in range(times):
            with kept(Trace(worker)) as trace:
                worker.tell("untouched")
                time.sleep(BEFORE_STOP)
                trace.interrupt()
                untouched = int(worker.expect("untouched").text.split()[1])
                trace.ended()
                found.microseconds.append((untouched - _last_event(trace.file)) / 1000)
    return found

"""The cost of a tool for its target: CPU and wall time per unit of work, with and without it, in alternating pairs.

A tool that leaves its target running is started once, and paused in turns of milliseconds (SIGSTOP to the tool, never
to the target). A virtual machine's neighbours change its speed by several percent within a tenth of a second, and short
turns spread that over both halves of a pair. A tool that stops its target would leave it stopped when paused, so it is
started anew for each pair.
"""
import contextlib
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from parts import cost
from parts.statistics_of_ratios import interval, median
from parts.target import Reading
from parts.tools import TOOL_CORE

SETTLE = 0.8   # seconds until a tool samples steadily
WINDOW = 1.0
PAIR = 1.0     # seconds of turns with the tool running and paused
NOTHING = Reading(0, 0, 0)
FEWEST_PAIRS = 30  # that a claim needs


@dataclass
class Slowdown:
    scenario: str
    minor: str
    tool: str
    rate: int
    cpu: list = field(default_factory=list)   # with / without - 1, one per pair
    wall: list = field(default_factory=list)

    @staticmethod
    def claim(values, bound):
        """("met" | "missed" | "no claim", sentence) on CPU or wall time per unit of work."""
        low, high = interval(values)
        text = f"{100 * median(values):+.2f} % [{100 * low:+.2f}, {100 * high:+.2f}], {len(values)} pairs"
        if len(values) < FEWEST_PAIRS:
            return "no claim", f"{text}: fewer than {FEWEST_PAIRS}"
        if not high - low <= bound:  # also if NaN
            return "no claim", f"{text}: the interval is wider than the bound"
        return ("met" if high <= bound else "missed" if low > bound else "no claim"), text


def _window(target, seconds):
    before = target.read()
    time.sleep(seconds)
    return target.read().per_unit_since(before)


@contextlib.contextmanager
def _running(tool, target, rate, seconds):
    """Starts the tool in a process group of its own, and yields it once it samples steadily."""
    with tempfile.TemporaryDirectory(prefix="ptrace-prof-bench-") as folder:
        output = cost.output_path(folder, tool)
        process = subprocess.Popen(cost.command_line(tool, target, rate, seconds, output), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, "LC_ALL": "C"})
        try:
            time.sleep(SETTLE)
            yield process
        finally:
            if process.poll() is None and (tool.overstays or not tool.stops_target):
                process.send_signal(signal.SIGINT)
            process.wait()
            tool.where(target, output).unlink(missing_ok=True)


def _started_anew(tool, target, rate, pairs):
    """Yields both windows of each pair; starts the tool for each pair."""
    def with_tool():
        with _running(tool, target, rate, SETTLE + WINDOW + 0.2) as process:
            found = _window(target, WINDOW)
            return found if process.poll() is None else None

    for pair in range(pairs):
        if pair % 2 == 0:
            yield _window(target, WINDOW), with_tool()
        else:
            found = with_tool()
            yield _window(target, WINDOW), found


@contextlib.contextmanager
def _off_the_targets_core():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {TOOL_CORE})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _stood_still(tool, target, rate, pairs):
    """Yields both windows of each pair; pauses and continues the tool."""
    turns = round(PAIR / 2 / (tool.settle + tool.turn))
    seconds = SETTLE + 2 * PAIR * pairs + 60
    with _off_the_targets_core(), _running(tool, target, rate, seconds) as process:
        try:
            for _ in range(pairs):
                sums = {signal.SIGSTOP: NOTHING, signal.SIGCONT: NOTHING}
                for turn in range(turns):
                    for to_tool in sums if turn % 2 else reversed(sums):
                        os.killpg(process.pid, to_tool)
                        time.sleep(tool.settle)
                        before = target.read()
                        time.sleep(tool.turn)
                        sums[to_tool] += target.read() - before
                if process.poll() is not None:
                    return
                yield tuple(done.per_unit_since(NOTHING) for done in sums.values())
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGCONT)


def measure(tool, target, rate, pairs, deadline):
    """As many pairs as requested, fewer if `deadline` (time.monotonic) comes first."""
    result = Slowdown(target.scenario.name, target.interpreter.minor, tool.name, rate)
    with contextlib.closing(_started_anew(tool, target, rate, pairs) if tool.stops_target else
                            _stood_still(tool, target, rate, pairs)) as windows:
        for without, with_tool in windows:
            if with_tool and without:
                result.cpu.append(with_tool[0] / without[0] - 1)
                result.wall.append(with_tool[1] / without[1] - 1)
            if time.monotonic() > deadline:
                break
    return result

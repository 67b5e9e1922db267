"""What a tool costs its target: CPU and wall time per unit of work with the tool and without it, in alternating pairs."""
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from parts import cost
from parts.statistics_of_ratios import interval, median

SETTLE = 0.8   # seconds until a tool samples steadily
WINDOW = 1.0
FEWEST_PAIRS = 30  # for a claim


@dataclass
class Slowdown:
    scenario: str
    minor: str
    tool: str
    rate: int
    cpu: list = field(default_factory=list)   # with / without - 1, one for each pair
    wall: list = field(default_factory=list)

    def claim(self, bound):
        """("met" | "missed" | "no claim", sentence) on CPU per unit of work."""
        low, high = interval(self.cpu)
        text = f"{100 * median(self.cpu):+.2f} % [{100 * low:+.2f}, {100 * high:+.2f}], {len(self.cpu)} pairs"
        if len(self.cpu) < FEWEST_PAIRS:
            return "no claim", f"{text}: fewer than {FEWEST_PAIRS}"
        if not high - low <= bound:  # NaN too
            return "no claim", f"{text}: the interval is wider than the bound"
        return ("met" if high <= bound else "missed" if low > bound else "no claim"), text


def _window(target, seconds):
    before = target.read()
    time.sleep(seconds)
    return target.read().per_unit_since(before)


def _with_tool(tool, target, rate):
    seconds = SETTLE + WINDOW + 0.2
    with tempfile.TemporaryDirectory(prefix="ptrace-prof-bench-") as folder:
        output = cost.output_path(folder, tool)
        process = subprocess.Popen(cost.command_line(tool, target, rate, seconds, output), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "LC_ALL": "C"})
        try:
            time.sleep(SETTLE)
            found = _window(target, WINDOW)
            lasted = process.poll() is None
        finally:
            if process.poll() is None and tool.overstays:
                process.send_signal(signal.SIGINT)
            process.wait()
            tool.where(target, output).unlink(missing_ok=True)
    return found if lasted else None


def measure(tool, target, rate, pairs, deadline):
    """As many pairs as asked for, fewer where `deadline` (time.monotonic) comes first."""
    result = Slowdown(target.scenario.name, target.interpreter.minor, tool.name, rate)
    for pair in range(pairs):
        if time.monotonic() > deadline:
            break
        if pair % 2 == 0:
            without, with_tool = _window(target, WINDOW), _with_tool(tool, target, rate)
        else:
            with_tool, without = _with_tool(tool, target, rate), _window(target, WINDOW)
        if with_tool and without:
            result.cpu.append(with_tool[0] / without[0] - 1)
            result.wall.append(with_tool[1] / without[1] - 1)
    return result

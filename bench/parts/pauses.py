"""How long a tool stops the target, by the target's own clock, and what a sample costs then: at 100 Hz and 1 kHz.

The target notes each gap between two readings of its clock that is too long for its own work. Timer interrupts and a
virtual machine's neighbours cause gaps too: as many of the shortest gaps as there are without a tool are not counted as
the tool's. A training job cannot measure its gaps, so there only the CPU per sample is compared.
"""
import time
from dataclasses import dataclass, field

from parts import compare, cost, training
from parts.scenario import SCENARIOS, Scenario
from parts.statistics_of_ratios import median
from parts.target import Target
from parts.tools import PtraceProf

RATES = (100, 1000)
ON = "p10"
JOB = Scenario("training", "tests/demo/train_transformer.py", "", (), 100, 1, 0)


@dataclass
class Pauses:
    scenario: str
    minor: str
    tool: str
    rate: int
    seconds: float = 0.0
    samples: int = 0
    per_sample: list = field(default_factory=list)  # CPU seconds, start and output included, one per repeat
    without: float = float("nan")                   # gaps per second without a tool
    gaps: list = field(default_factory=list)        # length in seconds of each gap with the tool
    refused: str = ""

    @property
    def own(self):
        """The gaps that the tool caused, shortest first."""
        others = round(self.without * self.seconds) if self.without == self.without else 0
        return sorted(self.gaps)[others:]

    @property
    def share(self):
        return sum(self.own) / self.seconds if self.seconds else 0.0


def _tools(able):
    ours = [PtraceProf("--no-subprocesses", *way) for way in ((), ("--blocking",), ("--nonblocking",))]  # as peers
    for tool in ours[1:]:
        tool.name = f"{tool.name} {tool.options[-1]}"
    return [*ours, *(tool for tool in able if tool.name != PtraceProf.name)]


def _without(target, seconds):
    count, begun = target.gap_count(), time.monotonic()
    time.sleep(seconds)
    return (target.gap_count() - count) / (time.monotonic() - begun)


def _once(tool, target, row, seconds, has_gaps, say):
    count, begun = target.gap_count() if has_gaps else 0, time.monotonic()
    try:
        run = cost.run(tool, target, row.rate, seconds, judge=False)
    except cost.Refused as refusal:
        row.refused = str(refusal)
        say(f"  {refusal}")
        return
    row.seconds += time.monotonic() - begun
    row.samples += run.samples
    row.per_sample.append(run.cpu / max(1, run.samples))
    if has_gaps:
        row.gaps += target.gaps_since(count)


def _measure(target, tools, rate, repeats, seconds, say):
    has_gaps = target.scenario.name == ON
    rows = [Pauses(target.scenario.name, target.interpreter.minor, tool.name, rate) for tool in tools]
    quiet = []
    for _ in range(repeats):
        if has_gaps:
            quiet.append(_without(target, seconds / 2))
        for tool, row in zip(tools, rows):
            if not row.refused:
                _once(tool, target, row, seconds, has_gaps, say)
    for row in rows:
        row.without = median(quiet)
        own = row.own if has_gaps else []
        say(f"  {row.scenario} {row.minor} {row.tool} at {rate} Hz: {row.samples} samples, "
            f"{median(row.per_sample) * 1e6:.0f} us of CPU each, {len(own)} pauses, {median(own) * 1e6:.0f} us")
    return rows


@dataclass
class _Job:
    """A stand-in for Target."""
    pid: int
    interpreter: object
    scenario: Scenario = JOB


def measure(peers, repeats, seconds, in_time, say):
    found = []
    for rate in RATES:
        for interpreter, able in compare.groups(peers):
            if in_time(f"pauses on {interpreter.minor} at {rate} Hz"):
                with Target(SCENARIOS[ON], interpreter) as target:
                    found += _measure(target, _tools(able), rate, repeats, seconds, say)
        with training.running() as job:
            if in_time(f"a training job at {rate} Hz"):
                able = [tool for tool in peers if training.Interpreter.minor in tool.minors]
                found += _measure(_Job(job.pid, training.Interpreter), _tools(able), rate, repeats, seconds, say)
    return found

"""CPU per thread-sample of every tool on the same targets, alternating, at the same rate and at each tool's fastest."""
from dataclasses import dataclass, field

from parts import cost
from parts.statistics_of_ratios import median
from parts.target import Target
from parts.tools import FASTEST, PtraceProf
from support import interpreters

COMMON = "3.13"   # the newest version that both py-spy and austin read
TACHYON = "3.15"


@dataclass
class Row:
    scenario: str
    minor: str
    tool: str
    asked: int
    runs: list = field(default_factory=list)
    start_up: float = 0.0     # CPU seconds of a run without samples
    per_sample: list = field(default_factory=list)  # CPU seconds without start-up, one per repeat
    refused: str = ""

    @property
    def samples(self):
        return sum(run.samples for run in self.runs)

    @property
    def rate(self):
        """Thread-samples per second of sampling, without start-up and output (for py-spy, of the whole run)."""
        return median([run.samples / run.sampling for run in self.runs])

    @property
    def good_rate(self):
        return median([run.samples * run.output.good / run.sampling for run in self.runs])

    @property
    def torn(self):
        return sum(run.torn for run in self.runs) / max(1, self.samples)

    @property
    def said(self):
        return self.runs[-1].output.said if self.runs else ""


def groups(peers, ours=None):
    """[(interpreter, tools)]: one target per interpreter that some peer supports, with its tools and ours."""
    found = []
    for minor in (COMMON, TACHYON):
        able = [tool for tool in peers if minor in tool.minors]
        here = interpreters.of_minor(minor)
        if able and here:
            found.append((here[0], [ours or PtraceProf(), *able]))
    return found


def _start_up(tool, target, rate, repeats, rows, say):
    """The median of some runs that are as short as the tool allows. With a longer run it gives two points of a line."""
    try:
        runs = [cost.run(tool, target, rate, tool.fewest_seconds, judge=False)
                for _ in range(1 if tool.is_aside else repeats)]
        return sorted(runs, key=lambda run: run.cpu)[len(runs) // 2]
    except cost.Refused as refusal:
        rows[tool.name].refused = str(refusal)
        say(f"  {refusal}")
        return None


def measure(scenario, peers, rate, seconds, repeats, say):
    """[Row]: the CPU per sample is the slope between a short and a long run, which excludes start-up."""
    found = []
    for interpreter, tools in groups(peers):
        rows = {tool.name: Row(scenario.name, interpreter.minor, tool.name, rate) for tool in tools}
        with Target(scenario, interpreter) as target:
            short = {tool.name: _start_up(tool, target, rate, repeats, rows, say) for tool in tools}
            for repeat in range(repeats):
                for tool in tools if repeat % 2 == 0 else reversed(tools):
                    row = rows[tool.name]
                    if not row.refused and (repeat == 0 or not tool.is_aside):
                        _repeat(tool, target, row, short[tool.name], rate, seconds, say)
        found += rows.values()
    return found


def _repeat(tool, target, row, short, rate, seconds, say):
    try:
        run = cost.run(tool, target, rate, seconds)
    except cost.Refused as refusal:
        row.refused = str(refusal)
        say(f"  {refusal}")
        return
    row.runs.append(run)
    gained = run.samples - short.samples
    if gained <= 0:
        say(f"  {row.scenario} {row.minor} {row.tool}: no more samples in {seconds:g} s than in {tool.fewest_seconds:g} s")
        return
    slope = (run.cpu - short.cpu) / gained
    row.per_sample.append(slope)
    row.start_up = max(0.0, short.cpu - slope * short.samples)
    say(f"  {row.scenario} {row.minor} {row.tool}: {run.samples} samples, {slope * 1e6:.2f} us of CPU each, "
        f"{run.samples / run.sampling:.0f}/s, torn {100 * run.torn / max(1, run.samples):.3f} %")


def ratios(rows, value):
    """{(scenario, minor, peer): median over repeats of value(peer) / value(ours)}; `value` returns a list."""
    found = {}
    ours = {(row.scenario, row.minor): row for row in rows if row.tool == PtraceProf.name}
    for row in rows:
        mine = ours.get((row.scenario, row.minor))
        if row is mine or mine is None:
            continue
        pairs = [theirs / own for theirs, own in zip(value(row), value(mine)) if own > 0]
        if pairs:
            found[row.scenario, row.minor, row.tool] = median(pairs)
    return found


def asked(rate):
    return "its fastest" if rate == FASTEST else f"{rate:,} Hz"

"""The scenarios of the benchmark: targets by name, and the rate that every tool is asked for."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Scenario:
    name: str
    what: str
    script: str
    arguments: tuple
    rate: int      # requested samples per second of each thread
    threads: int
    frames: int    # frames of descend() under work(); a stack with another number lost or gained frames

    @property
    def judged(self):
        """Whether the call grammar is declared, so that impossible stacks can be counted."""
        return self.script == "calls.py"


def _calls(name, what, depth, busy, waiting, rate, *more):
    return Scenario(name, what, "calls.py", (str(depth), str(busy), str(waiting), *more), rate, busy + waiting, depth - 5)


SCENARIOS = {scenario.name: scenario for scenario in (
    _calls("d10", "one thread, depth 10", 10, 1, 0, 10_000),
    _calls("d60", "one thread, depth 60", 60, 1, 0, 10_000),
    _calls("d200", "one thread, depth 200", 200, 1, 0, 10_000),
    _calls("t8", "8 busy threads, depth 20", 20, 8, 0, 2_000),
    _calls("t64", "1 busy thread and 63 that wait, depth 20", 20, 1, 63, 1_000),
    _calls("steady", "one thread, depth 60, a stack that stands still", 60, 1, 0, 1_000, "steady"),
    Scenario("p10", "one thread, depth 10, that notes when it stood still", "pauses.py", ("10",), 1_000, 1, 0),
    Scenario("mixed", "an ordinary program: JSON, sorting, generators, regular expressions", "mixed.py", (), 1_000, 4, 0),
)}

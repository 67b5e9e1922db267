#!/usr/bin/env python3
"""The benchmark: our cost against the peers', our own promises, and docs/benchmarks.md from both.

./dev bench [--quick] [--only PART ...] [--out FILE]. Needs two cores: the target has one, the tool the other. What a
machine cannot give (a peer, an interpreter) is named in the page, and its promises are "no claim".
"""
import argparse
import os
import pathlib
import sys
import time
from dataclasses import dataclass, field, replace

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from parts import compare, cost, footprint, machine, read_cost, report, service, slowdown, tools  # noqa: E402
from parts.scenario import SCENARIOS  # noqa: E402
from parts.target import Target  # noqa: E402
from support import interpreters  # noqa: E402

BUSY_PERCENT = 20  # before we start: more is worth a warning
PARTS = ("compare", "reads", "calls", "memory", "size", "slowdown", "service", "more")


@dataclass(frozen=True)
class Mode:
    name: str
    compared: tuple        # scenarios that promises are about
    more: tuple            # others, last
    fastest_seconds: float
    paced_seconds: float
    paced_rate: int
    repeats: int
    pairs: int
    slow_peers: bool       # slowdown of the peers too
    memory_seconds: float
    service_rounds: int
    minutes: float         # no new measurement begins after that

    def within(self, minutes):
        """The same, in that time: shorter runs, not fewer repeats."""
        share = min(1, minutes / self.minutes)
        shorter = {name: max(least, getattr(self, name) * share) for name, least in
                   (("fastest_seconds", 1.5), ("paced_seconds", 3), ("memory_seconds", 8))}
        return replace(self, name=f"{self.name}, within {minutes:g} minutes", minutes=minutes, **shorter,
                       slow_peers=self.slow_peers and share == 1)


QUICK = Mode("quick: fewer samples than the promises ask for", ("d10", "d60", "t64"), (), 1.5, 3, 1000, 1, 6, False, 8, 10, 8)
FULL = Mode("full", ("d10", "d60", "t64"), ("d200", "t8"), 6, 35, 1000, 3, 40, True, 60, 40, 90)


@dataclass
class Results:
    mode: str
    paced_rate: int
    machine: list = field(default_factory=list)
    missing: list = field(default_factory=list)
    fastest: list = field(default_factory=list)
    paced: list = field(default_factory=list)
    read_costs: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    memory: list = field(default_factory=list)
    sizes: list = field(default_factory=list)
    slowdowns: list = field(default_factory=list)
    service: list = field(default_factory=list)
    commands: set = field(default_factory=set)
    notes: list = field(default_factory=list)


def say(text):
    print(text, flush=True)


class Bench:
    def __init__(self, mode, parts):
        self.mode, self.parts = mode, parts
        self.started = time.monotonic()
        self.results = Results(mode.name, mode.paced_rate)
        self.peers, self.results.missing = tools.available()
        for missing in self.results.missing:
            say(f"not had here: {missing}")
        self.results.machine = machine.facts(HERE.parent)
        if float(dict(self.results.machine)["busy before the start"].split()[0]) > BUSY_PERCENT:
            self.results.notes.append("The machine had other work: a process that sleeps between samples wakes up to cold "
                                      "caches, rates are what was left over, and torn stacks are rarer than on a quiet one.")
        self.results.machine += [(tool.name, tool.version()) for tool in [tools.PtraceProf(), *self.peers]]
        self.home = next((one for one in interpreters.of_minor(compare.COMMON)), None)
        if self.home is None:
            sys.exit(f"bench: there is no CPython {compare.COMMON} here: ./dev setup test finds or unpacks one")

    def in_time(self, what):
        """Whether there is time left to begin something; if not, the page says what was left out."""
        if time.monotonic() - self.started < 60 * self.mode.minutes:
            return True
        note = f"Left out, for lack of time: {what}."
        if note not in self.results.notes:
            self.results.notes.append(note)
        return False

    def each(self, names, measure):
        """measure(target) on each scenario; what fails is noted, not hidden."""
        for name in names:
            if self.in_time(name):
                try:
                    with Target(SCENARIOS[name], self.home) as target:
                        measure(target)
                except (RuntimeError, cost.Refused) as failure:
                    say(f"  {failure}")
                    self.results.notes.append(f"{name}: {failure}")

    def compare(self):
        self._compare(self.mode.compared)

    def more(self):
        self._compare(self.mode.more)

    def _compare(self, names):
        for name in names:
            for rate, seconds, into in ((tools.FASTEST, self.mode.fastest_seconds, self.results.fastest),
                                        (self.mode.paced_rate, self.mode.paced_seconds, self.results.paced)):
                if self.in_time(f"comparison on {name}"):
                    say(f"{name}: {compare.asked(rate)}, {seconds} s, {self.mode.repeats} repeats")
                    into += compare.measure(SCENARIOS[name], self.peers, rate, seconds, self.mode.repeats, say)

    def reads(self):
        binary = pathlib.Path(tools.PtraceProf.binary).with_name("read_cost_bench")
        if not binary.exists():
            self.results.notes.append(f"The cost in bare reads was not measured: {binary} is missing.")
            return
        self.each(("d10", "d60", "d200", "t64"),
                  lambda target: self.results.read_costs.append(read_cost.measure(str(binary), target)))

    def calls(self):
        self.each(("steady", "d10", "d200", "t64"),
                  lambda target: self.results.calls.append(footprint.system_calls(target, 1000, 3)))

    def memory(self):
        for name, rate in (("mixed", 1000), ("t8", tools.FASTEST)):
            seconds = self.mode.memory_seconds if rate != tools.FASTEST else self.mode.memory_seconds / 3
            self.each((name,), lambda target, rate=rate, seconds=seconds:
                      self.results.memory.append(footprint.memory(target, rate, seconds)))

    def size(self):
        self.each(("mixed", "d60", "t64"), lambda target: self.results.sizes.append(
            footprint.trace_size(target, 1000, min(10, self.mode.memory_seconds))))

    def slowdown(self):
        for interpreter, able in compare.groups(self.peers):
            for tool in able if self.mode.slow_peers else able[:1]:
                if self.in_time(f"slowdown by {tool.name}"):
                    with Target(SCENARIOS["d10"], interpreter) as target:
                        deadline = self.started + 60 * self.mode.minutes
                        found = slowdown.measure(tool, target, 1000, self.mode.pairs, deadline)
                    self.results.slowdowns.append(found)
                    say(f"  slowdown by {tool.name} on {interpreter.minor}: {found.claim(0.005)[1]}")

    def service(self):
        binary = pathlib.Path(tools.PtraceProf.binary).with_name("bench") / "rpc_bench"
        if not binary.exists():
            self.results.notes.append(f"The cost of the service was not measured: {binary} is missing.")
        elif self.in_time("the service"):
            try:
                self.results.service.append(service.measure(str(binary), self.mode.service_rounds))
            except RuntimeError as failure:
                self.results.notes.append(f"The service: {failure}")

    def run(self):
        for part in self.parts:
            say(f"== {part}")
            getattr(self, part)()
        self.results.machine.append(("measured in", f"{(time.monotonic() - self.started) / 60:.0f} minutes"))
        self.results.machine.append(("busy at the end", f"{100 * machine.busy_share():.0f} % of the machine"))
        with Target(SCENARIOS["d10"], self.home) as target:
            for tool in [tools.PtraceProf(), *self.peers]:
                line = " ".join(cost.command_line(tool, target, self.mode.paced_rate, 10, pathlib.Path("OUT")))
                self.results.commands.add(line.replace(f" {target.pid} ", " PID "))
        return self.results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="minutes instead of an hour and a half; too few samples for a claim")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="these parts alone")
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "docs/benchmarks.md", help="the page to write")
    parser.add_argument("--binary", help="another ptrace-prof than build/bin/ptrace-prof")
    parser.add_argument("--minutes", type=float, help="shorter runs, and no new measurement after that")
    arguments = parser.parse_args()
    if (os.cpu_count() or 1) < 2:
        sys.exit("bench: the target and the sampler need a core each, and there is only one")
    tools.PtraceProf.binary = arguments.binary or tools.PtraceProf.binary
    if not os.access(tools.PtraceProf.binary, os.X_OK):
        sys.exit(f"bench: there is no {tools.PtraceProf.binary}: ./dev build makes it")
    mode = QUICK if arguments.quick else FULL
    if arguments.minutes:
        mode = mode.within(arguments.minutes)
    page = report.write(Bench(mode, arguments.only).run())
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(page)
    say(f"wrote {arguments.out}")


if __name__ == "__main__":
    main()

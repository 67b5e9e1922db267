#!/usr/bin/env python3
"""The benchmark: our cost against the peers', our own promises, and docs/benchmarks.md from both.

./dev bench [PART ...] [--quick] [--minutes N] [--out FILE]. Needs two cores: one for the target, one for the tool. The
page names what a machine lacks (a peer, an interpreter); its promises are "no claim". Parts that are not measured stay
on the page as they were.
"""
import argparse
import os
import pathlib
import sys
import time
from dataclasses import dataclass, field, replace

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from parts import (compare, cost, footprint, goals, gpu_doubles, gpu_records, machine, page, pauses, read_cost, report, service, slowdown, tools,  # noqa: E402
                   torch_cost, trace, training)
from parts.scenario import SCENARIOS  # noqa: E402
from parts.target import Target  # noqa: E402
from support import interpreters, profiler  # noqa: E402

OUR_PAIRS = 5  # times as many as a peer's, because the promises are about ours
SHORTEST_PACED = 8  # seconds
BUSY_PERCENT = 20  # before the start: more load causes a warning
PARTS = ("compare", "reads", "calls", "memory", "size", "slowdown", "pauses", "service", "training", "torch", "trace",
         "injection", "gpu", "doubles", "more")
BESIDE_PEERS = ("compare", "slowdown", "pauses", "more")
PAUSE_REPEATS = 3


@dataclass(frozen=True)
class Mode:
    name: str
    compared: tuple        # scenarios with promises
    more: tuple            # other scenarios, measured last
    fastest_seconds: float
    paced_seconds: float
    paced_rate: int
    repeats: int
    pairs: int
    slow_peers: bool       # also measure the slowdown by peers
    memory_seconds: float
    training_seconds: float
    pause_seconds: float
    service_rounds: int
    trace_minutes: float   # for the part trace
    torch_minutes: float   # for the part torch
    minutes: float         # after these no new measurement begins

    def within(self, minutes):
        """The same mode within that time: shorter runs, not fewer repeats."""
        share = min(1, minutes / self.minutes)
        shorter = {name: max(least, getattr(self, name) * share) for name, least in
                   (("fastest_seconds", 1.5), ("paced_seconds", 3), ("memory_seconds", 8), ("training_seconds", 10), ("pause_seconds", 5))}
        return replace(self, name=f"{self.name}, within {minutes:g} minutes", minutes=minutes, **shorter,
                       trace_minutes=min(self.trace_minutes, minutes), torch_minutes=min(self.torch_minutes, minutes), slow_peers=self.slow_peers and share == 1)


COMPARED = ("d10", "d60", "t64")
QUICK = Mode("quick: fewer samples than the promises ask for", COMPARED, (),
             fastest_seconds=1.5, paced_seconds=3, paced_rate=1000, repeats=1, pairs=6, slow_peers=False,
             memory_seconds=8, training_seconds=10, pause_seconds=3, service_rounds=10, trace_minutes=3, torch_minutes=3, minutes=11)
FULL = Mode("full", COMPARED, ("d200", "t8"),
            fastest_seconds=6, paced_seconds=35, paced_rate=1000, repeats=3, pairs=30, slow_peers=True,
            memory_seconds=60, training_seconds=60, pause_seconds=12, service_rounds=40, trace_minutes=trace.FULL_MINUTES, torch_minutes=12,
            minutes=105)


@dataclass
class Results:
    """The results of one part."""
    paced_rate: int
    fastest: list = field(default_factory=list)
    paced: list = field(default_factory=list)
    read_costs: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    memory: list = field(default_factory=list)
    sizes: list = field(default_factory=list)
    slowdowns: list = field(default_factory=list)
    pauses: list = field(default_factory=list)
    service: list = field(default_factory=list)
    training: list = field(default_factory=list)
    torch: list = field(default_factory=list)
    gpu: list = field(default_factory=list)
    doubles: list = field(default_factory=list)
    tracing: object = None
    ways: object = None
    commands: set = field(default_factory=set)
    notes: list = field(default_factory=list)

    def is_empty(self):
        measured = (self.fastest, self.paced, self.read_costs, self.calls, self.memory, self.sizes, self.slowdowns, self.pauses,
                    self.service, self.training, self.torch, self.gpu, self.doubles)
        return not any(measured) and all(found is None or found.is_empty() for found in (self.tracing, self.ways))


def say(text):
    print(text, flush=True)


class Bench:
    def __init__(self, mode, parts):
        self.mode, self.parts = mode, parts
        self.started = time.monotonic()
        self.results = Results(mode.paced_rate)
        self.peers, self.missing = tools.available() if set(parts) & set(BESIDE_PEERS) else ([], [])
        for missing in self.missing:
            say(f"not had here: {missing}")
        self.home = next((one for one in interpreters.of_minor(compare.COMMON)), None)
        if self.home is None and set(parts) != {"trace"}:
            sys.exit(f"bench: there is no CPython {compare.COMMON} here: ./dev setup test finds or unpacks one")

    def in_time(self, what):
        """Whether there is time left to begin a measurement. If not, the page says what was left out."""
        if time.monotonic() - self.started < 60 * self.mode.minutes:
            return True
        note = f"Left out, for lack of time: {what}."
        if note not in self.results.notes:
            self.results.notes.append(note)
        return False

    def each(self, names, measure):
        """measure(target) on each scenario; a failure is noted on the page."""
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
                if rate != tools.FASTEST:  # the same number of samples of each target
                    seconds = max(min(seconds, SHORTEST_PACED), seconds / SCENARIOS[name].threads)
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
        """Shares the remaining time evenly."""
        todo = [(tool, interpreter, rate) for interpreter, able in compare.groups(self.peers)
                for tool in (able if self.mode.slow_peers else able[:1]) for rate in goals.SLOWDOWN_BOUNDS]
        for number, one in enumerate(todo):
            self.slowdown_at(*one, time.monotonic() + 60 * self.minutes_left() / (len(todo) - number))

    def pauses(self):
        try:
            self.results.pauses = pauses.measure(self.peers, min(PAUSE_REPEATS, self.mode.repeats), self.mode.pause_seconds,
                                                 self.in_time, say)
        except cost.Refused as failure:
            self.results.notes.append(str(failure))

    def slowdown_at(self, tool, interpreter, rate, deadline):
        if not self.in_time(f"slowdown by {tool.name} at {rate} Hz"):
            return
        with Target(SCENARIOS["d10"], interpreter) as target:
            pairs = self.mode.pairs * (OUR_PAIRS if tool.name == tools.PtraceProf.name else 1)
            found = slowdown.measure(tool, target, rate, pairs, deadline)
        self.results.slowdowns.append(found)
        say(f"  slowdown by {tool.name} on {interpreter.minor} at {rate} Hz: {found.claim(found.wall, goals.SLOWDOWN_BOUNDS[rate])[1]}")

    def service(self):
        binary = pathlib.Path(tools.PtraceProf.binary).with_name("bench") / "rpc_bench"
        if not binary.exists():
            self.results.notes.append(f"The cost of the service was not measured: {binary} is missing.")
        elif self.in_time("the service"):
            try:
                self.results.service.append(service.measure(str(binary), self.mode.service_rounds))
            except RuntimeError as failure:
                self.results.notes.append(f"The service: {failure}")

    def training(self):
        if self.in_time("a training job"):
            try:
                self.results.training.append(training.measure(self.mode.training_seconds))
            except cost.Refused as failure:
                self.results.notes.append(str(failure))

    def torch(self):
        if self.in_time("operators of PyTorch"):
            minutes = min(self.mode.torch_minutes, self.minutes_left())
            self.results.torch, notes = torch_cost.measure(minutes, minutes / FULL.torch_minutes, say)
            self.results.notes += notes

    def trace(self):
        if self.in_time("exact tracing"):
            self.results.tracing = trace.measure(min(self.mode.trace_minutes, self.minutes_left()), say)

    def injection(self):
        if self.in_time("the tracer's way into a process"):
            self.results.ways = trace.measure_ways(min(self.mode.trace_minutes, self.minutes_left()), say)

    def gpu(self):
        binary = pathlib.Path(tools.PtraceProf.binary).with_name("bench") / "gpu_records_bench"
        if not binary.exists():
            self.results.notes.append(f"The cost of GPU records was not measured: {binary} is missing.")
        elif self.in_time("GPU records"):
            try:
                self.results.gpu.append(gpu_records.measure(str(binary)))
            except RuntimeError as failure:
                self.results.notes.append(f"GPU records: {failure}")

    def doubles(self):
        if gpu_doubles.missing():
            self.results.notes.append(f"GPU captures on doubles were not measured: {', '.join(gpu_doubles.missing())} missing.")
        elif self.in_time("GPU captures on doubles"):
            try:
                self.results.doubles.append(gpu_doubles.measure(self.home, say))
            except RuntimeError as failure:
                self.results.notes.append(f"GPU captures on doubles: {failure}")

    def minutes_left(self):
        return self.mode.minutes - (time.monotonic() - self.started) / 60

    def _commands(self):
        with Target(SCENARIOS["d10"], self.home) as target:
            for tool in [tools.PtraceProf(), *self.peers]:
                line = " ".join(cost.command_line(tool, target, self.mode.paced_rate, 10, pathlib.Path("OUT")))
                self.results.commands.add(line.replace(f" {target.pid} ", " PID "))

    def _facts(self, part, before, begun):
        versions = [tools.PtraceProf(), *(self.peers if part in BESIDE_PEERS else [])]
        return [*before, ("mode", self.mode.name), *((tool.name, tool.version()) for tool in versions),
                ("measured in", f"{(time.monotonic() - begun) / 60:.0f} minutes"),
                ("busy at the end", f"{100 * machine.busy_share():.0f} % of the machine")]

    def run(self, keep):
        """Passes each finished part to keep(name, page.Part); a part without any measurement is skipped."""
        for part in self.parts:
            say(f"== {part}")
            self.results, begun, before = Results(self.mode.paced_rate), time.monotonic(), machine.facts(HERE.parent)
            notes = self.results.notes
            if float(dict(before)["busy before the start"].split()[0]) > BUSY_PERCENT:
                say(f"warning: {dict(before)['busy before the start']} is busy with something else: figures will be worth little")
                notes.append("The machine had other work: what sleeps in between wakes up to cold caches, rates are what was "
                             "left over, and torn stacks are rarer than on a quiet one.")
            getattr(self, part)()
            if self.results.is_empty():
                say(f"  nothing could be measured: {part} stays as it was. {' '.join(notes)}")
                continue
            if part == "compare":
                self._commands()
            notes += [f"Not had here: {missing}" for missing in self.missing if part in BESIDE_PEERS]
            keep(part, page.Part([list(fact) for fact in self._facts(part, before, begun)], goals.judge(part, self.results),
                                 report.lines(part, self.results), notes))


def keeper(out):
    """Returns a function that stores a part and updates the page at once, so that an aborted run keeps its results."""
    store = out.with_suffix(".json")

    def keep(name, part):
        parts = {**page.load(store), name: part}
        page.save(store, parts)
        out.write_text(page.render(parts))
        say(f"wrote {name} to {store} and {out}")
    return keep


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="minutes instead of an hour and a half; too few samples for a claim")
    parser.add_argument("parts", choices=PARTS, nargs="*", metavar="PART", help=f"these alone: {', '.join(PARTS)}")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=[], metavar="PART", help="the same")
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
    profiler.BINARY = tools.PtraceProf.binary
    chosen = {*arguments.parts, *arguments.only}
    Bench(mode, [part for part in PARTS if part in chosen or not chosen]).run(keeper(arguments.out))


if __name__ == "__main__":
    main()

"""The cost of an event for a traced process, beside the same work untraced and under peers that run inside the process.

Two processes for each interpreter, on one core and in turns: one is traced by us from outside, the other contains the
peers. The added time is relative to the same process without a tracer. Medians over all turns of all rounds. A virtual
machine may change its speed by half for seconds. So the small effects, of a stub that is idle or excludes everything,
are a ratio of ratios: of two consecutive turns, one of our process, one of the other process, which is untraced then.
"""
import time
from dataclasses import dataclass, field

from parts.statistics_of_ratios import median
from parts.traced import Failed, Trace, Worker, can_exclude

PEERS = ("cProfile", "viztracer")
WORKS = ("fib", "methods", "c_calls", "loop")
TURNS = {"train": 10, "torch": 3}
TURNS_OF_ANY = 6
PAIRS = 12  # of turns of both processes, one after the other


@dataclass
class Cost:
    """One work on one interpreter: thread CPU time of a turn in ns, by tracer."""
    python: str
    minor: str
    work: str
    events: int = 0     # events of Python functions in a turn
    c_events: int = 0
    times: dict = field(default_factory=dict)
    pairs: dict = field(default_factory=dict)  # a turn of our process / the next one of the other process, by kind

    def note(self, kind, times):
        self.times.setdefault(kind, []).extend(times)

    def is_paired(self, *kinds):
        return all(self.pairs.get(kind) for kind in kinds)

    def ratio_of_pairs(self, kind, base):
        return median(self.pairs[kind]) / median(self.pairs[base])

    def has(self, *kinds):
        return all(self.times.get(kind) for kind in kinds)

    def base(self, kind):
        return "apart" if kind in (*PEERS, "torch") else "untraced"

    def added(self, kind):
        """ns that a turn took longer than without a tracer."""
        return median(self.times.get(kind, [])) - median(self.times.get(self.base(kind), []))

    def slowdown(self, kind):
        return median(self.times.get(kind, [])) / median(self.times.get(self.base(kind), []))

    @property
    def idle(self):
        """The ratio of an idle stub to the time before there was one."""
        return self.ratio_of_pairs("idle", "before")

    @property
    def excluded(self):
        """The ratio of a trace that excludes everything to no trace."""
        return self.ratio_of_pairs("excluded", "idle")

    def per_event(self, kind):
        """Added ns per event of a Python function."""
        return self.added(kind) / self.events

    @property
    def per_c_event(self):
        """Added ns per event of a C function: what --c-calls adds to a trace without it."""
        return (self.added("ours with C") - self.added("ours")) / self.c_events

    def ratio(self, peer, ours):
        """The peer's added time divided by ours."""
        mine = self.added(ours)
        return self.added(peer) / mine if mine > 0 else float("inf")


class Measurement:
    """The measurement of one interpreter."""

    def __init__(self, interpreter, works, peers):
        self.interpreter, self.peers = interpreter, list(peers)
        self.refusals, self.versions = [], {}
        label = f"{interpreter.version} ({interpreter.kind})"
        self.costs = {work: Cost(label, interpreter.minor, work) for work in works}
        self.excludes = can_exclude()

    def run(self, rounds, deadline):
        with Worker(self.interpreter) as ours, Worker(self.interpreter) as apart:
            for work, cost in self.costs.items():
                cost.events, cost.c_events = apart.counted(work)
            self.peers = [peer for peer in self.peers if self._is_there(apart, peer)]
            self._beside(ours, apart)
            for done in range(rounds):
                if done and time.monotonic() > deadline:
                    self.refusals.append(f"{self.interpreter.version}: {done} of {rounds} rounds, for lack of time.")
                    break
                self._round(ours, apart)
        return list(self.costs.values())

    def _is_there(self, worker, peer):
        if peer == "cProfile":
            return True
        try:
            self.versions[peer] = worker.ask("version", peer)
            return True
        except Failed as failure:
            self.refusals.append(f"No {peer} for CPython {self.interpreter.version}: {failure}.")
            return False

    @staticmethod
    def _once(worker, work, under="none"):
        return worker.times(under, work, TURNS.get(under, TURNS.get(work, TURNS_OF_ANY)))

    def _turns(self, worker, kind, under="none"):
        for work, cost in self.costs.items():
            cost.note(kind, self._once(worker, work, under))

    def _pairs(self, ours, apart, kind):
        for work, cost in self.costs.items():
            for _ in range(PAIRS):
                (mine,), (theirs,) = (worker.times("none", work, 1) for worker in (ours, apart))
                cost.pairs.setdefault(kind, []).append(mine / theirs)

    def _beside(self, ours, apart):
        """Pairs of turns before the first trace, after it, and in a trace that excludes everything."""
        self._pairs(ours, apart, "before")
        with Trace(ours):
            pass
        self._pairs(ours, apart, "idle")
        if self.excludes and self.interpreter.numbers >= (3, 12):
            with Trace(ours, "--exclude", "*"):
                for work in self.costs:
                    self._once(ours, work)  # each function is switched off at its first call
                self._pairs(ours, apart, "excluded")
            self._pairs(ours, apart, "idle")

    def _traced(self, ours, kind, *options):
        trace = Trace(ours, *options)
        with trace:
            found = [(cost, self._once(ours, work)) for work, cost in self.costs.items()]
        if trace.lost:  # losing events is cheaper than recording them
            self.refusals.append(f"{self.interpreter.version}, {kind}: {trace.lost:,} events were lost, so that turn does not "
                                 "count.")
            return
        for cost, times in found:
            cost.note(kind, times)

    def _round(self, ours, apart):
        self._turns(ours, "untraced")
        self._traced(ours, "ours")
        self._turns(ours, "untraced")
        self._traced(ours, "ours with C", "--c-calls")
        self._turns(apart, "apart")
        for peer in list(self.peers):
            try:
                self._turns(apart, peer, peer)
            except Failed as failure:
                self.refusals.append(f"{failure}.")
                self.peers.remove(peer)

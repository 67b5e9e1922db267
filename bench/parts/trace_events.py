"""What an event costs a traced process, beside the same work untraced and under peers that run inside it.

Two processes for each interpreter, on one core and in turns: ours is traced from outside, the other has the peers in it.
What is added is told against the same process without anybody. Medians over all turns of all rounds. A virtual machine may
change its speed by half for seconds: what is to be told to a percent, a stub that is there or does nothing, is a ratio of
ratios, each of two turns that follow each other, of ours and of the other process, which nobody watches then.
"""
import time
from dataclasses import dataclass, field

from parts.statistics_of_ratios import median
from parts.traced import Failed, Trace, Worker, can_exclude

PEERS = ("cProfile", "viztracer")
WORKS = ("fib", "methods", "c_calls", "loop")
TURNS = {"train": 10, "torch": 3}
TURNS_OF_ANY = 6
PAIRS = 12  # of turns of both processes, one after another


@dataclass
class Cost:
    """Of one work on one interpreter: thread CPU time of a turn in ns, by who watched."""
    python: str
    minor: str
    work: str
    events: int = 0     # of Python functions in a turn
    c_events: int = 0
    times: dict = field(default_factory=dict)
    pairs: dict = field(default_factory=dict)  # a turn of ours / the next one of the other process, by the same

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
        """ns that a turn took longer."""
        return median(self.times.get(kind, [])) - median(self.times.get(self.base(kind), []))

    def slowdown(self, kind):
        return median(self.times.get(kind, [])) / median(self.times.get(self.base(kind), []))

    @property
    def idle(self):
        """With a stub that is there and does nothing, against before there was one."""
        return self.ratio_of_pairs("idle", "before")

    @property
    def excluded(self):
        """Under a trace that leaves all of it out, against none."""
        return self.ratio_of_pairs("excluded", "idle")

    def per_event(self, kind):
        """ns for each event of a Python function."""
        return self.added(kind) / self.events

    @property
    def per_c_event(self):
        """ns for each event of a C function: what --c-calls adds to a trace without it."""
        return (self.added("ours with C") - self.added("ours")) / self.c_events

    def ratio(self, peer, ours):
        """How many times as much the peer adds."""
        mine = self.added(ours)
        return self.added(peer) / mine if mine > 0 else float("inf")


class Measurement:
    """Of one interpreter."""

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
        """Before the first trace, after it, and in one that leaves everything out."""
        self._pairs(ours, apart, "before")
        with Trace(ours):
            pass
        self._pairs(ours, apart, "idle")
        if self.excludes and self.interpreter.numbers >= (3, 12):
            with Trace(ours, "--exclude", "*"):
                for work in self.costs:
                    self._once(ours, work)  # it is switched off where it is met first
                self._pairs(ours, apart, "excluded")
            self._pairs(ours, apart, "idle")

    def _traced(self, ours, kind, *options):
        trace = Trace(ours, *options)
        with trace:
            found = [(cost, self._once(ours, work)) for work, cost in self.costs.items()]
        if trace.lost:  # which is cheaper
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

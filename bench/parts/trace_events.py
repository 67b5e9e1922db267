"""What an event costs a traced process, beside the same work untraced and under peers that run inside it.

Two processes for each interpreter, on one core and in turns: ours is traced from outside, the other has the peers in it.
What is added is told against the same process without anybody. Medians over all turns of all rounds.
"""
import time
from dataclasses import dataclass, field

from parts.statistics_of_ratios import median
from parts.traced import Failed, Trace, Worker, can_exclude

PEERS = ("cProfile", "viztracer")
WORKS = ("fib", "methods", "c_calls", "loop")
TURNS = {"train": 10, "torch": 3}
TURNS_OF_ANY = 6


@dataclass
class Cost:
    """Of one work on one interpreter: thread CPU time of a turn in ns, by who watched."""
    python: str
    minor: str
    work: str
    events: int = 0     # of Python functions in a turn
    c_events: int = 0
    times: dict = field(default_factory=dict)

    def note(self, kind, times):
        self.times.setdefault(kind, []).extend(times)

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
        return median(self.times.get("idle", [])) / median(self.times.get("before", []))

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
            self._idle(ours)
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

    def _idle(self, ours):
        """Before the first trace and after it, as near to each other as can be."""
        for _ in range(3):
            self._turns(ours, "before")
        with Trace(ours):
            pass
        for _ in range(3):
            self._turns(ours, "idle")

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
        if self.excludes and self.interpreter.numbers >= (3, 12):
            self._traced(ours, "excluded", "--exclude", "*")
        self._turns(apart, "apart")
        for peer in list(self.peers):
            try:
                self._turns(apart, peer, peer)
            except Failed as failure:
                self.refusals.append(f"{failure}.")
                self.peers.remove(peer)

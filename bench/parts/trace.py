"""Exact tracing: its cost for the target beside peers, how soon the target is free of it, and the path of the events
outside. How soon it is there is a part of its own."""
import time
from dataclasses import dataclass, field

from parts import trace_events, trace_injection, trace_stream
from parts.traced import Failed, with_torch
from support import interpreters

FULL_MINUTES, WAYS_MINUTES = 10, 5
ROUNDS, LEAVES = 8, 8  # in a full run
PROCESSES = 25         # processes of each mode and version, in the part about ways
# Shares of the time after which no further measurement of that kind begins.
EVENTS_UNTIL, TRAINING_UNTIL, STREAM_UNTIL = 0.55, 0.8, 0.9


@dataclass
class Tracing:
    costs: list = field(default_factory=list)      # trace_events.Cost
    training: list = field(default_factory=list)
    entries: list = field(default_factory=list)    # trace_injection.Entry
    leaving: list = field(default_factory=list)    # trace_stream.Leaving
    whole: list = field(default_factory=list)      # trace_stream.Whole
    replay: dict = field(default_factory=dict)
    versions: dict = field(default_factory=dict)   # {peer: set}
    notes: list = field(default_factory=list)

    def is_empty(self):
        return not (self.costs or self.training or self.entries or self.leaving or self.whole or self.replay)


def _one_of_each_version():
    found = {}
    for one in interpreters.discover():
        found.setdefault(one.version, one)
    return list(found.values())


class Run:
    def __init__(self, minutes, full_minutes, say):
        share = min(1.0, minutes / full_minutes)
        self.started, self.minutes, self.say = time.monotonic(), minutes, say
        self.rounds, self.processes, self.leaves = (max(2, round(share * full)) for full in (ROUNDS, PROCESSES, LEAVES))
        self.found = Tracing(notes=[f"No CPython {minor} here." for minor in interpreters.missing()])

    def deadline(self, share=1.0):
        return self.started + 60 * self.minutes * share

    def each(self, what, candidates, share, measure):
        """measure(interpreter, deadline) on each; each gets an even share of the time that is left."""
        for number, interpreter in enumerate(candidates):
            left = self.deadline(share) - time.monotonic()
            if left <= 0:
                self.found.notes.append(f"Left out, for lack of time: {what} on CPython {interpreter.version}.")
                continue
            self.say(f"  {what}: CPython {interpreter}")
            try:
                measure(interpreter, time.monotonic() + left / (len(candidates) - number))
            except Exception as failure:  # a failure is noted, and the others continue
                words = f"{type(failure).__name__}: {str(failure).strip()[-300:]}"
                self.say(f"  {words}")
                self.found.notes.append(f"{what} on CPython {interpreter.version}: {' '.join(words.split())}")

    def _costs(self, works, peers, into):
        def measure(interpreter, until):
            one = trace_events.Measurement(interpreter, works, peers)
            into.extend(one.run(self.rounds, until))
            self.found.notes += one.refusals
            for peer, version in one.versions.items():
                self.found.versions.setdefault(peer, set()).add(version)
        return measure

    def ways(self):
        self.each("the way in", _one_of_each_version(), 1.0, lambda interpreter, until: self.found.entries.extend(
            trace_injection.measure(interpreter, self.processes, until)))
        return self.found

    def calls(self):
        found, candidates, capable = self.found, _one_of_each_version(), with_torch()
        newest = [one for minor in ("3.13", "3.14") for one in candidates if one.minor == minor][-1:] or candidates[-1:]
        self.each("events", candidates, EVENTS_UNTIL, self._costs(trace_events.WORKS, trace_events.PEERS, found.costs))
        self.each("training", capable, TRAINING_UNTIL,
                  self._costs(("train", "fib"), (*trace_events.PEERS, "torch"), found.training))
        if not capable:
            found.notes.append("No interpreter here has PyTorch: the training step was not measured.")
        self.each("ten million events", newest, STREAM_UNTIL,
                  lambda interpreter, _: found.whole.append(trace_stream.whole(interpreter)))
        try:
            found.replay = trace_stream.replay()
        except Failed as failure:
            found.notes.append(str(failure))
        self.each("leaving", candidates, 1.0,
                  lambda interpreter, _: found.leaving.append(trace_stream.leaving(interpreter, self.leaves)))
        return found


def measure(minutes, say):
    return Run(min(FULL_MINUTES, minutes), FULL_MINUTES, say).calls()


def measure_ways(minutes, say):
    return Run(min(WAYS_MINUTES, minutes), WAYS_MINUTES, say).ways()

"""The calls of an exact trace as trees, read from its Chrome JSON. Children are in the order in which they began."""
import collections
import json
from dataclasses import dataclass, field

from . import profiler


@dataclass
class Call:
    name: str  # plain, so the same on every version
    tid: int
    suspends: bool  # a stretch of a call that goes on in another slice
    finished: bool
    below: list = field(default_factory=list)

    def rows(self, depth=0):
        """[depth, name, suspends] of this call and all below it, in order."""
        found, waiting = [], [(depth, self)]
        while waiting:
            at, call = waiting.pop()
            found.append([at, call.name, call.suspends])
            waiting += [(at + 1, one) for one in reversed(call.below)]
        return found

    def all(self):
        waiting = [self]
        while waiting:
            call = waiting.pop()
            yield call
            waiting += call.below


class CallTrees:
    def __init__(self, trace):
        """`trace`: the path of a .pftrace."""
        document = json.loads(profiler.must("export", trace, "--format", "chrome", "-o", "-").output)
        events = [event for event in document["traceEvents"] if event.get("cat") == "python_function"]
        self.calls = {event["args"]["Python id"]: self._call(event) for event in events}
        self.markers = [event["name"] for event in events if event["name"].startswith("[")]
        self.roots = []
        for event in sorted(events, key=lambda event: event["args"]["Python id"]):
            parent = self.calls.get(event["args"]["Python parent id"])
            (parent.below if parent else self.roots).append(self.calls[event["args"]["Python id"]])
        self.named = collections.defaultdict(list)
        for call in self.calls.values():
            self.named[call.name].append(call)

    @staticmethod
    def _call(event):
        name = event["name"].rpartition(": ")[2]
        return Call(name if name.startswith("<") else name.rpartition(".")[2], event["tid"],
                    event["args"].get("suspended", False), event["args"].get("finished", True))

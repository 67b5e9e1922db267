"""Training loops of many kinds: each operator is compared with the trace of PyTorch's own profiler, in order, with the
sizes of its inputs, its sequence number and its caller; also allocations and floating point operations."""
import collections
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402
from support.torch_job import TorchCase  # noqa: E402

STEPS = 2
OPTIONS = ("--record-shapes", "--profile-memory")
JOBS = ("perceptron", "transformer", "attention", "convolution", "recurrent", "adversarial", "accumulated", "inference", "scripted",
        "compiled", "distributed", "oddities")
# What else torch.profiler writes as an event of a thread: marks of its own, not operators.
NOT_OPERATORS = ("PyTorch Profiler", "Iteration Start")
# Ranges of torch.compile that it marks only while its own profiler is on.
ONLY_BESIDE_A_PROFILER = ("Pregraph bytecode", "AOTDispatcher Runtime Wrapper Prologue")


class Event(collections.namedtuple("Event", "name dims sequence is_backward caller")):
    pass


def events_of(trace):
    """The operators and ranges of a Kineto JSON: those of the training thread in the order in which they began, then all
    others, sorted, because it depends on chance which thread of a pool runs what."""
    found = sorted((one for one in trace if one.get("cat") in ("cpu_op", "user_annotation") and "args" in one
                    and not one["name"].startswith(("ProfilerStep#", *NOT_OPERATORS))),
                   key=lambda one: one["args"]["Record function id"])
    numbers = [one["args"]["Sequence number"] for one in found if "Sequence number" in one["args"]]
    first = min(numbers, default=0)
    open_of = collections.defaultdict(list)
    events = collections.defaultdict(list)
    for one in found:
        stack = open_of[one["tid"]]
        begin, end = one["ts"], one["ts"] + one["dur"]
        while stack and (stack[-1][1] < end - 1e-4 or stack[-1][1] <= begin):
            stack.pop()
        known = one["args"]
        events[one["tid"]].append(Event(one["name"], known.get("Input Dims", []),
                            known["Sequence number"] - first if "Sequence number" in known else None,
                            known.get("Fwd thread id", 0) > 0, stack[-1][0] if stack else None))
        stack.append((one["name"], end))
    training, *others = sorted(events.values(), key=len, reverse=True)
    return training + sorted(sum(others, []), key=str)


def allocated(trace):
    return [one["args"]["Bytes"] for one in sorted((one for one in trace if one["name"] == "[memory]"),
                                                   key=lambda one: one["ts"]) if one["args"]["Bytes"] > 0]


class Jobs(TorchCase):
    shares = True
    script = "torch_jobs.py"

    def compare(self, job):
        said = self.ask("job", job)
        if said.startswith("no "):
            print(f"{job}: PyTorch {self.torch} says {said}")
            return
        reference = self.read("profiled", STEPS)
        trace = self.record("steps", STEPS, options=OPTIONS)
        self.assertAgree(trace, reference)

    def test_two_ranks(self):
        """One process of two that train together, and then both."""
        store = f"/tmp/pp-store-{self.target.pid}"
        self.addCleanup(pathlib.Path(self.root + store).unlink, missing_ok=True)
        other = TargetProcess(self.script, self.target.interpreter)
        self.addCleanup(other.close)
        other.tell(f"job ranked 1 {store}")
        self.assertEqual(self.ask("job", "ranked", 0, store), "yes")
        self.assertEqual(other.expect("done").text, "done yes")
        other.tell(f"steps {STEPS}")
        reference = self.read("profiled", STEPS)
        other.expect("done")

        recording = self.recording(*OPTIONS)
        other.tell(f"steps {STEPS}")
        self.ask("steps", STEPS)
        other.expect("done")
        self.assertAgree(self.end(recording), reference)

        recordings = [self.recording(*OPTIONS), self.recording(*OPTIONS, pid=other.pid)]
        other.tell(f"steps {STEPS}")
        self.ask("steps", STEPS)
        other.expect("done")
        for recording in recordings:
            self.assertAgree(self.end(recording), reference)
        self.assertUnharmed(other.pid)

    def assertAgree(self, trace, reference):
        self.assertEqual(trace.unfinished, [])
        self.assertGroupsAre(trace, reference["groups"])
        if reference["kineto"] is None:
            # A list without asynchronous ones, and without some of those that are one with their caller. It may miss some.
            names = collections.Counter(name for name, _ in reference["events"])
            least = collections.Counter({row["name"]: row["count"] for row in trace.rows() if not row["name"].startswith("gloo")})
            self.assertEqual(names - collections.Counter(trace.names), collections.Counter())
            self.assertLessEqual((least - names).total(), 2, least - names)
            return
        ours = events_of(trace.events)
        theirs = events_of([one for one in reference["kineto"] if one["name"] not in ONLY_BESIDE_A_PROFILER])
        counts, expected = (collections.Counter(one.name for one in some) for some in (ours, theirs))
        self.assertEqual((counts - expected, expected - counts), (collections.Counter(), collections.Counter()))
        fields = Event._fields if self.is_precise else ("name", "dims", "sequence", "is_backward")
        for number, (one, other) in enumerate(zip(ours, theirs)):
            for field in fields:
                if field == "dims" and one.name.startswith("aten::index"):
                    continue  # of a list of tensors that may be missing torch.profiler says nothing
                self.assertEqual(getattr(one, field), getattr(other, field), f"{field} of number {number}: {one}, {other}")
        self.assertEqual(allocated(trace.events), allocated(reference["kineto"]))
        flops = {name: row["flops"] for name, row in trace.table.items() if row.get("flops")}
        self.assertEqual({name: flops.get(name) for name in reference["flops"]}, reference["flops"])

    def assertGroupsAre(self, trace, groups):
        """What torch.distributed knows. The rank comes from the environment, which does not say one here; a description is not
        Python's."""
        info = trace.document.get("distributedInfo")
        if groups is None:
            self.assertIsNone(info)
            return
        groups = {name: value for name, value in groups.items() if name != "rank"}
        for config in groups.get("pg_config", []):
            config.pop("pg_desc", None)
        if self.torch < (2,):
            info = {key: info[key] for key in groups}
        self.assertEqual(info, groups)


def test_of(job):
    def test(self):
        self.compare(job)
    return test


for name in JOBS:
    setattr(Jobs, f"test_{name}", test_of(name))


if __name__ == "__main__":
    case.main()

"""The base of the tests that record jobs on the doubles of CUDA's libraries: a job with its faults, a recording of it,
and the checks that the trace agrees with what the job really did."""
import collections
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading

from . import case, profiler
from .daemon import Daemon, Place

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOUBLES = os.environ.get("PP_CUDA_DOUBLES", str(ROOT / "build/bin/tests/cuda"))
DUMP = os.environ.get("PP_GPU_TRACE_DUMP", str(ROOT / "build/bin/tests/gpu_trace_dump"))
TROUBLE = ("trouble", "troubled")  # word and answer: the double then causes the chosen fault (on_word)
DEVICE = "Double of a GPU"  # this name appears once all kinds of records are switched on
EDGE = 50_000_000  # ns
WITHIN = 1_000_000  # ns; the largest difference between CUPTI's clock and ours
# The limit for the median. The double itself is within some 2 us: it reads its clock anew each 10 ms, between two
# readings that are no further apart. A busy machine spoils single pairs of readings, which a median ignores.
MOSTLY_WITHIN = 20_000


class GpuCase(case.Case):
    def setUp(self):
        if self.interpreter.in_root:
            self.skipTest("the doubles are not in its root")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def job(self, *arguments, script="cuda_job.py", version="130001", env=None, **double):
        self.truth_file = self.folder / "truth.json"
        self.double = double
        options = ",".join(f"{key}={value}" for key, value in double.items())
        return self.start(script, "--truth", self.truth_file, "--version", version, *arguments,
                          env={"PP_CUDA_DOUBLES": DOUBLES, "PP_CUDA_DOUBLE": options, **(env or {})})

    def record(self, target, *options, duration="1s"):
        output = self.folder / "out.pftrace"
        finished = profiler.must("record", "--gpu", "--pid", target.pid, "--duration", duration, "-o", output, *options)
        self.read(output)
        return finished

    def start_recording(self, target, *options):
        """A recording that goes on until it is interrupted; then call wait() and read(its trace)."""
        recording = profiler.Recording(target.pid, "--gpu", "--duration", "1h", *options)
        self.addCleanup(recording.remove)
        return recording

    def await_all_on(self, recording, target, *saying):
        """Waits until all records are switched on, in a job that launches nothing. Its Python runs when a message
        reaches it."""
        watching = threading.Thread(target=recording.shows, args=(DEVICE,))
        watching.start()
        while watching.is_alive():
            target.tell(saying[0])
            target.expect(saying[1])
            watching.join(0.01)

    def collector_of(self, recording):
        collectors = recording.children()
        self.assertEqual(len(collectors), 1, collectors)
        return collectors[0]

    def stop(self, recording):
        recording.interrupt()
        finished = recording.wait()
        self.read(recording.trace)
        return finished

    def read(self, trace):
        dumped = subprocess.run([DUMP, trace], check=True, capture_output=True, text=True).stdout
        lines = [json.loads(line) for line in dumped.splitlines()]
        self.operations = [line for line in lines if "kind" in line]
        self.calls = [line for line in lines if "call" in line]
        self.totals = lines[-1]
        self.annotations = [line for line in lines if "annotation" in line]
        self.notices = [line["notice"] for line in lines if "notice" in line]
        self.devices = [line for line in lines if "device" in line and "multiprocessors" in line]

    def truth(self, target):
        self.assertEqual(target.finish(), 0, target.stderr())
        truth = json.loads(self.truth_file.read_text())
        self.assertEqual({what: times for what, times in truth["misuse"].items() if times}, {}, "forbidden by CUPTI")
        return truth

    def assertTrue_to(self, truth, kinds=("kernel", "memcpy", "memset")):
        """Each operation that was launched while CUPTI recorded must be in the trace once, with its true values."""
        launches = [one["launched"] for one in self.operations if one["kind"] == "kernel" and self.is_linked(one)]
        begin, end = min(launches) + EDGE, max(launches) - EDGE  # kinds are switched on and off one after the other
        called = {call["correlation"]: call["start"] for call in truth["calls"] if call["correlation"]}
        for kind in kinds:
            true = {(one["correlation"], one["node"]): one for one in truth["operations"]
                    if one["kind"] == kind and one["correlation"] and self.is_linked(one)}
            of_kind = [one for one in self.operations if one["kind"] == kind and self.is_linked(one)]
            seen = {(one["correlation"], one["node"]): one for one in of_kind}
            self.assertEqual(len(seen), len(of_kind), f"{kind}: each once")
            self.assertEqual(set(seen) - set(true), set(), kind)
            within = {key for key in true if begin < called.get(key[0], 0) < end}
            self.assertGreater(len(within), 50)
            self.assertEqual(within - set(seen), set(), kind)
            for key, one in seen.items():
                # A call that was made while calls were being switched on has no record of its thread.
                tid = true[key]["tid"] if key in within or one["tid"] else 0
                self.assertEqual((one["name"] if kind == "kernel" else "", one["stream"], one["graph"], one["tid"]),
                                 (true[key]["name"] if kind == "kernel" else "", true[key]["stream"], true[key]["graph"], tid))
                self.assertLess(abs(one["start"] - true[key]["start"]), WITHIN)
                self.assertLess(abs(one["end"] - true[key]["end"]), WITHIN)
            self.assertMostlyWithin([one["start"] - true[key]["start"] for key, one in seen.items()])
        self.assertUnlinkedAre(truth)

    def assertMostlyWithin(self, errors):
        """Not checked where the clock was set: near that moment times may be off."""
        if len(errors) > 50 and not any(option.startswith("clock_step") for option in self.double):
            self.assertLess(statistics.median(abs(error) for error in errors), MOSTLY_WITHIN)

    def is_linked(self, one):
        """False for operations of graphs in a second session with an older CUPTI, and for operations of calls that had
        begun before calls had correlation numbers."""
        return not (self.totals["unlinked"] and one["graph"]) and one["correlation"] != 0

    def assertUnlinkedAre(self, truth):
        """Each operation without a link must have happened at its time."""
        starts = collections.defaultdict(list)
        for one in truth["operations"]:
            starts[one["node"]].append(one["start"])
        for one in self.operations:
            if not self.is_linked(one):
                self.assertLess(min(abs(one["start"] - start) for start in starts[one["node"]]), WITHIN)

    def assertAddsUp(self):
        totals = self.totals
        self.assertEqual(totals["kernels"] - totals["without_launch"] + totals["invalid"] + totals["unseen"],
                         totals["launches"], totals)
        self.assertEqual(totals["skipped"], 0)

    def serve(self):
        place = Place()
        self.addCleanup(place.close)
        self.daemon = Daemon(place)
        self.addCleanup(self.daemon.close)
        return ("--host", place.address)

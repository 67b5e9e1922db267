"""What is a step of a training loop: loops of many kinds, with real optimizers of PyTorch."""
import collections
import gzip
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.torch_job import Trace, TorchCase  # noqa: E402

PASSES = 6
ROUNDED = 0.005  # of times, in microseconds: a double holds a time of weeks to 0.001
SCHEDULES = pathlib.Path(profiler.BINARY).parent / "tests/schedule_dump"
# Loop: its steps in PASSES passes, if not one each. Where another optimizer takes over, two passes are one step.
LOOPS = {"loop": None, "several": None, "unequal": None, "critic": 3 * PASSES, "stopping": PASSES - 2, "adversarial": None,
         "accumulated": None, "skipping": PASSES // 2, "scaled": None, "scheduled": None, "wrapped": None, "hooked": None,
         "closure": None, "linesearch": None, "perparameter": None, "compiledstep": None, "compiledaround": None,
         "parts": None, "beside": None, "pooled": None, "lightning": None,
         "lightningadversarial": None, "transformers": None, "accelerated": None}


class Steps(TorchCase):
    shares = True
    script = "torch_loops.py"

    def recorded(self, loop, *options, passes=PASSES):
        """(steps: number, thread, begin, end; the begins of passes), or None where this PyTorch has no such loop"""
        said = self.ask("loop", loop)
        if said.startswith("no "):
            print(f"{loop}: PyTorch {self.torch} says {said}")
            return None
        trace = self.record("passes", passes, options=("--mode", "trace", *options))
        self.said = trace.said
        steps = sorted((int(one["name"].split("#")[1]), one["tid"], one["ts"], one["ts"] + one["dur"])
                       for one in trace.events if one["name"].startswith("ProfilerStep#"))
        begins = [one["ts"] for one in trace.events if one["name"].endswith(": begin_pass")]
        self.assertEqual(len(begins), passes)
        return steps, begins

    def compare(self, loop):
        recorded = self.recorded(loop)
        if recorded is None:
            return
        steps, begins = recorded
        expected = LOOPS[loop] or PASSES
        self.assertEqual([number for number, *_ in steps], list(range(expected)))
        self.assertIn(f"recorded {expected - 1} whole steps: 0 to {expected - 2}\n", self.said)
        if loop == "pooled":
            self.assertEqual(len({thread for _, thread, _, _ in steps}), PASSES)
            return
        self.assertEqual(len({thread for _, thread, _, _ in steps}), 1)
        for (_, _, _, end), (_, _, begin, _) in zip(steps, steps[1:]):
            self.assertAlmostEqual(end, begin, delta=ROUNDED)
        if expected == PASSES:
            for number, _, begin, end in steps[:-1]:
                self.assertEqual(sum(begin <= one < end for one in begins), 1, f"step {number}")


    def test_schedules_are_torchs(self):
        ours = subprocess.run([SCHEDULES], check=True, capture_output=True, text=True).stdout.splitlines()
        path = f"/tmp/pp-schedules-{self.target.pid}.txt"
        outside = pathlib.Path(self.root + path)
        self.addCleanup(outside.unlink)
        outside.write_text("\n".join(ours))
        said = int(self.ask("schedules", path))
        theirs = outside.read_text().splitlines()
        self.assertEqual(said, len(ours) if self.torch >= (2, 14) else len(theirs))
        self.assertEqual(len(ours), 3 * 4 * 3 * 3 * 3 * 3)
        self.assertGreaterEqual(len(theirs), len(ours) // 3)
        known = {line.split()[5] for line in theirs}
        self.assertEqual([line for line in ours if line.split()[5] in known], theirs)

    def named(self, *patterns):
        """The steps of a loop without an optimizer."""
        steps, begins = self.recorded("inference", *(word for pattern in patterns for word in ("--step-function", pattern)))
        return steps, begins

    def test_a_function_may_be_the_step(self):
        for pattern in ("generate" if self.minor < "3.11" else "Inference.generate", "*generate",
                        "torch_loops.*generate"):
            with self.subTest(pattern):
                steps, begins = self.named(pattern)  # it calls itself: the outermost counts
                self.assertEqual([number for number, *_ in steps], list(range(PASSES)))
                for _, _, begin, end in steps[:-1]:
                    self.assertEqual(sum(begin <= one < end for one in begins), 1)

    def test_a_function_that_fails_makes_no_step(self):
        self.assertEqual(self.named("*fail")[0], [])
        self.assertEqual(len(self.named("*fail", "nothing", "*generate")[0]), PASSES)

    def test_a_module_or_file_is_no_step(self):
        for pattern in ("torch_loops", "torch_loops.py", "*/torch_loops.py"):
            self.assertEqual(self.named(pattern)[0], [], pattern)

    def test_then_optimizers_make_no_steps(self):
        steps, _ = self.recorded("loop", "--step-function", "begin_pass")
        self.assertEqual([number for number, *_ in steps], list(range(PASSES)))
        self.assertEqual(self.recorded("loop", "--step-function", "nothing")[0], [])

    def test_so_many_calls_of_a_function(self):
        self.ask("loop", "inference")
        recording = self.recording("--mode", "trace", "--step-function", "*generate", "--steps", "3", "--exclude", "*generate")
        self.ask("passes", 20)
        finished = recording.wait()
        self.assertEqual(finished.status, 0, finished)
        self.assertIn("recorded 3 whole steps: 0 to 2\n", finished.errors)

    def test_where_no_function_matches_everything_is_recorded(self):
        recording = self.recording("--mode", "trace", "--step-function", "nothing", "--steps", "3", "--duration", "400ms")
        finished = recording.wait()
        self.assertRegex(finished.errors, r"no function that --step-function matches returned in [\d.]+ s: everything is ")


    def ends_by_itself(self, *options, loop="adversarial", passes=40):
        """(the trace of a recording that its steps end, what it wrote to FOLDER)"""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.ask("loop", loop)
        recording = self.recording("--mode", "trace", *(option.replace("FOLDER", folder.name) for option in options))
        self.ask("passes", passes)
        finished = recording.wait()
        self.assertEqual(finished.status, 0, finished)
        return Trace(recording.trace, finished.errors), sorted(pathlib.Path(folder.name).iterdir())

    def test_operators_and_memory_are_those_of_the_steps(self):
        trace, _ = self.ends_by_itself("--steps", "3", "--profile-memory")
        steps = {one["name"]: one for one in trace.events if one["name"].startswith("ProfilerStep#")}
        self.assertEqual(list(steps), [f"ProfilerStep#{number}" for number in range(3)])
        begin = min(one["ts"] for one in steps.values()) - ROUNDED
        end = max(one["ts"] + one["dur"] for one in steps.values()) + ROUNDED
        self.assertEqual(trace.ranges["Optimizer.step#Adam.step"], 3)
        self.assertEqual(trace.ranges["Optimizer.step#SGD.step"], 3)
        self.assertGreater(len(trace.operators), 300)
        self.assertGreater(len(trace.memory), 30)
        for one in trace.operators + [one for one in trace.memory if one["args"]["Bytes"] > 0]:
            self.assertTrue(begin <= one["ts"] <= end, one)
        held = collections.Counter()  # what is freed was allocated
        for one in trace.memory:
            held[one["args"]["Addr"]] += one["args"]["Bytes"]
        self.assertTrue(all(size >= 0 for size in held.values()), held)
        per_step = collections.Counter()
        for one in trace.operators:
            per_step[next(name for name, step in steps.items() if one["ts"] <= step["ts"] + step["dur"] + ROUNDED)] += 1
        self.assertEqual(len(set(per_step.values())), 1, per_step)
        rows = trace.rows("--group-by", "step")
        self.assertEqual({row["step"] for row in rows if row["name"] == "aten::addmm"}, set(steps))

    def test_a_file_for_each_cycle(self):
        trace, files = self.ends_by_itself("--schedule", "wait=1,warmup=1,active=2,repeat=3", "--on-trace-ready",
                                           "tensorboard:FOLDER")
        self.assertEqual(len(files), 3)
        numbers, operators = [], 0
        for file in files:
            self.assertRegex(file.name, rf"^{re.escape(socket.gethostname())}_{self.target.pid}\.\d{{19}}\.pt\.trace\.json$")
            self.assertIn(f"wrote {file} (", trace.said)
            events = json.loads(file.read_text())["traceEvents"]
            steps = [one for one in events if one["name"].startswith("ProfilerStep#")]
            begin, end = steps[0]["ts"] - ROUNDED, steps[-1]["ts"] + steps[-1]["dur"] + ROUNDED
            numbers.append([int(one["name"].split("#")[1]) for one in steps])
            operators += sum(one.get("cat") == "cpu_op" for one in events)
            self.assertEqual(sum(one["name"].endswith(": begin_pass") for one in events), 2)
            for one in events:
                if one.get("cat") == "python_function":
                    self.assertTrue(begin <= one["ts"] and one["ts"] + one["dur"] <= end, one)
        self.assertEqual(numbers, [[2, 3], [6, 7], [10, 11]])
        self.assertEqual(operators, len(trace.operators))  # they are the whole recording

    def test_cycles_that_touch_are_files_of_their_own(self):
        _, files = self.ends_by_itself("--active", "2", "--repeat", "2", "--on-trace-ready", "tensorboard-gz:FOLDER")
        self.assertEqual(len(files), 2)
        for number, file in enumerate(files):
            self.assertTrue(file.name.endswith(".pt.trace.json.gz"))
            events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
            self.assertEqual([one["name"] for one in events if one["name"].startswith("ProfilerStep#")],
                             [f"ProfilerStep#{2 * number + of}" for of in range(2)])
            main = [one for one in events if one.get("cat") == "python_function" and one["name"].endswith(": main")]
            self.assertEqual(len(main), 1)  # it ran before, and goes on
            self.assertEqual(sum(one["name"].endswith(": begin_pass") for one in events), 2)

    def test_a_program_gets_the_path(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        script = pathlib.Path(folder.name, "keep it")
        script.write_text('#!/bin/sh\necho "$@" >> "$0.seen"\nexit 7\n')
        script.chmod(0o755)
        trace, files = self.ends_by_itself("--schedule", "active=1,warmup=1,repeat=2", "--on-trace-ready",
                                           "tensorboard:FOLDER", "--on-trace-ready", f"exec:{script}")
        self.assertEqual(script.with_name("keep it.seen").read_text().split("\n")[:-1], [str(file) for file in files])
        self.assertEqual(len(files), 2)
        self.assertEqual(trace.said.count(f"{script} exited with 7"), 2)  # and the recording went on

    def test_without_steps_the_whole_is_the_file(self):
        self.ask("loop", "loop")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        trace = self.record("passes", 3, options=("--mode", "trace", "--on-trace-ready", f"tensorboard:{folder.name}"))
        (file,) = pathlib.Path(folder.name).iterdir()
        events = json.loads(file.read_text())["traceEvents"]
        self.assertEqual(sum(one.get("cat") == "cpu_op" for one in events), len(trace.operators))

    def test_the_end_of_the_recording_ends_a_cycle(self):
        self.ask("loop", "loop")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.record("passes", 4, options=("--mode", "trace", "--steps", "100", "--on-trace-ready",
                                          f"tensorboard:{folder.name}"))
        (file,) = pathlib.Path(folder.name).iterdir()
        names = [one["name"] for one in json.loads(file.read_text())["traceEvents"]]
        self.assertEqual([name for name in names if name.startswith("ProfilerStep#")],
                         [f"ProfilerStep#{number}" for number in range(4)])


def test_of(loop):
    def test(self):
        self.compare(loop)
    return test


for name in LOOPS:
    setattr(Steps, f"test_{name}", test_of(name))


if __name__ == "__main__":
    case.main()

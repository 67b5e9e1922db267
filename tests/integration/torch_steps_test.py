"""What is a step of a training loop: loops of many kinds, with real optimizers of PyTorch."""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.torch_job import TorchCase  # noqa: E402

PASSES = 6
SCHEDULES = pathlib.Path(profiler.BINARY).parent / "tests/schedule_dump"
# Loop: its steps in PASSES passes, if not one each. Where another optimizer takes over, two passes are one step.
LOOPS = {"loop": None, "several": None, "unequal": None, "critic": 3 * PASSES, "stopping": PASSES - 2, "adversarial": None,
         "accumulated": None, "skipping": PASSES // 2, "scaled": None, "scheduled": None, "wrapped": None, "hooked": None,
         "closure": None, "linesearch": None, "perparameter": None, "compiledstep": None, "compiledaround": None,
         "parts": None, "beside": None, "pooled": None}


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
            self.assertAlmostEqual(end, begin, delta=0.002)
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


def test_of(loop):
    def test(self):
        self.compare(loop)
    return test


for name in LOOPS:
    setattr(Steps, f"test_{name}", test_of(name))


if __name__ == "__main__":
    case.main()

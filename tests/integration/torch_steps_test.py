"""What is a step of a training loop: loops of many kinds, with real optimizers of PyTorch."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case  # noqa: E402
from support.torch_job import TorchCase  # noqa: E402

PASSES = 6
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


def test_of(loop):
    def test(self):
        self.compare(loop)
    return test


for name in LOOPS:
    setattr(Steps, f"test_{name}", test_of(name))


if __name__ == "__main__":
    case.main()

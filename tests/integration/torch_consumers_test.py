"""What we export of PyTorch in the programs that read torch.profiler's JSON. What is not installed here is not tried:
`./dev soak torch` installs it."""
import importlib.util
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, perfetto, profiler, trace_validator  # noqa: E402
from support.torch_job import ARROWS, STEPS, TorchCase  # noqa: E402


def has(package):
    return importlib.util.find_spec(package) is not None


class Consumers(TorchCase):
    shares = True
    made = {}

    def exported(self, mode="trace"):
        """The JSON of some steps with everything, once for all tests."""
        kept = self.made.get(mode)
        if kept is None:
            folder = tempfile.mkdtemp()
            self.addClassCleanup(shutil.rmtree, folder)
            kept = pathlib.Path(folder, "job_1.1000.pt.trace.json")  # as TensorBoard's plugin wants to have it
            trace = self.record("steps", STEPS, options=("--mode", mode, "--record-shapes", "--profile-memory"))
            profiler.must("export", trace.path, "--format", "chrome", "-o", kept)
            self.made[mode] = kept
        return kept

    def of(self, mode, *categories):
        return [one for one in json.loads(self.exported(mode).read_text())["traceEvents"] if one.get("cat") in categories]

    def test_pytorchs_validator(self):
        if not trace_validator.found():
            self.skipTest("no PyTorch with torch.profiler._trace_validator here (Debian forky's python3-torch has it)")
        self.assertEqual(trace_validator.violations(self.exported()), [])

    @unittest.skipIf(perfetto.unavailable(), f"Perfetto was not tried: {perfetto.unavailable()}")
    def test_perfetto(self):
        for mode, categories in (("trace", ("cpu_op", "user_annotation", "python_function")),
                                 ("sample", ("cpu_op", "user_annotation"))):
            with self.subTest(mode), perfetto.Perfetto(str(self.exported(mode).parent)) as program:
                processor = program.load(self.exported(mode).name)
                wrong = processor.query("select name, value from stats where value != 0 and severity = 'error'")
                counts = dict(processor.query("select category, count(*) from slice group by category"))
                self.assertEqual({one: counts[one] for one in categories},
                                 {one: len(self.of(mode, one)) for one in categories})
                self.assertEqual(processor.query("select count(*) from flow"), [(ARROWS,)])
                self.assertEqual(wrong, [])

    @unittest.skipUnless(has("hta"), "HolisticTraceAnalysis is not installed: it was not tried")
    def test_holistic_trace_analysis(self):
        from hta.common.trace_call_graph import CallGraph
        from hta.common.trace_parser import parse_trace_dataframe  # noqa: F401
        from hta.trace_analysis import TraceAnalysis
        analysis = TraceAnalysis(trace_files={0: str(self.exported())}, trace_dir="")
        self.assertEqual(len(analysis.t.get_trace(0)), 0)
        CallGraph(analysis.t)


if __name__ == "__main__":
    case.main()

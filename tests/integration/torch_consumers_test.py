"""What we export of PyTorch in the programs that read torch.profiler's JSON. What is not installed here is not tried:
`./dev soak torch` installs it."""
import collections
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, perfetto, profiler, trace_validator  # noqa: E402
from support.torch_job import ALWAYS, ARROWS, STEPS, TorchCase  # noqa: E402


# Loads a folder as TensorBoard's plugin does, and prints what it found.
PLUGIN = """
import json, sys
from torch_tb_profiler import io
from torch_tb_profiler.profiler.loader import RunLoader
run = RunLoader("run", sys.argv[1], io.Cache()).load()
profile, = run.profiles.values()
print(json.dumps({"views": sorted(view.display_name for view in profile.views),
                  "calls": {row["name"]: row["calls"] for row in profile.operation_table_by_name["data"]}}))
"""


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
        """What it can say without a GPU: steps, and who calls whom."""
        os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else it makes times negative, of torch.profiler's own JSON too
        from hta.common.trace_call_graph import CallGraph
        from hta.trace_analysis import TraceAnalysis
        analysis = TraceAnalysis(trace_files={0: str(self.exported())}, trace_dir="")
        steps = {int(one["name"].split("#")[1]) for one in self.of("trace", "user_annotation")
                 if one["name"].startswith("ProfilerStep#")}
        self.assertEqual({int(step) for step in analysis.get_profiler_steps()}, steps - {max(steps)})  # it drops the last
        self.assertEqual(len(analysis.get_comm_comp_overlap(visualize=False)), 1)
        CallGraph(analysis.t)
        names = analysis.t.symbol_table.get_sym_table()
        rows = analysis.t.get_trace(0).set_index("index")
        callers = collections.Counter((names[row["name"]], names[rows.loc[row["parent"]]["name"]])
                                      for _, row in rows.iterrows() if names[row["name"]] in ("aten::mm", "aten::addmm"))
        self.assertEqual(callers, {("aten::mm", "AddmmBackward0"): ALWAYS["aten::mm"],
                                   ("aten::addmm", "aten::linear"): ALWAYS["aten::addmm"]})

    @unittest.skipUnless(has("torch_tb_profiler"), "TensorBoard's plugin of PyTorch is not installed: it was not tried")
    def test_tensorboard(self):
        finished = subprocess.run([sys.executable, "-c", PLUGIN, self.exported().parent], capture_output=True, text=True,
                                  timeout=300)
        self.assertEqual((finished.returncode, [line for line in finished.stderr.splitlines() if "Error" in line]), (0, []),
                         finished.stderr)
        said = json.loads(finished.stdout)
        self.assertEqual(said["views"], ["Memory", "Module", "Operator", "Overview", "Trace"])
        self.assertEqual({name: said["calls"][name] for name in ALWAYS}, ALWAYS)


if __name__ == "__main__":
    case.main()

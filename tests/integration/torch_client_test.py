"""The operators and memory of a trace in Python: what the client's objects and tables say, on a real job."""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, interpreters, profiler  # noqa: E402
from support.torch_job import ALWAYS, FLOPS, MATRICES, STEPS, TorchCase  # noqa: E402

PACKAGE = pathlib.Path(os.environ["PP_CLIENT_PACKAGE"]) / "package"
PYTHON = interpreters.CACHE / "venv-client/bin/python"
# Runs with the client's own requirements, and prints JSON.
SCRIPT = """
import json, sys
import ptrace_prof
trace = ptrace_prof.Trace.load(sys.argv[1])
averages = trace.key_averages()
shapes = trace.key_averages(group_by_input_shape=True)
frame = trace.events().to_pandas()
memory = trace.memory_events().to_arrow()
tensors = trace.tensors()
try:
    trace.key_averages(group_by_stack_n=1, group_by="module")
except ValueError as error:
    refused = str(error)
try:
    trace.key_averages(group_by="colour")
except ptrace_prof.ExportFailed as error:
    unknown = str(error)
print(json.dumps({
    "counts": {row.key: row.count for row in averages},
    "flops": {row.key: row.flops for row in averages},
    "tensors": [[row.sizes, row.type, row.of] for row in tensors if row.name == "layers.0.fc1.weight exp_avg"],
    "memory": {row.key: row.self_cpu_memory_usage for row in averages},
    "mean": all(abs(row.cpu_time * row.count - row.cpu_time_total) < 1 for row in averages),
    "shapes": {json.dumps(row.input_shapes): row.count for row in shapes if row.key == "aten::mm"},
    "modules": sorted({row.module for row in trace.key_averages(group_by="module") if row.key == "aten::addmm"}),
    "stacks": sorted({row.stack[0].split(": ")[1] for row in trace.key_averages(group_by_stack_n=2)
                      if row.key == "aten::addmm"}),
    "overloads": sorted({row.overload_name for row in trace.key_averages(group_by_overload_name=True)
                         if row.key == "aten::add_"}),
    "table": averages.table(sort_by="count", row_limit=3).splitlines(),
    "frame": [len(frame), int((frame.name == "aten::mm").sum()), int((frame.sequence_nr >= 0).sum())],
    "arrow": [memory.num_rows, sum(one for one in memory["bytes"].to_pylist() if one > 0)],
    "refused": refused, "unknown": unknown}))
"""


class Client(TorchCase):
    def test_what_a_trace_has(self):
        if not PYTHON.exists() or not PACKAGE.exists():
            self.skipTest("the client's environment or its package is not there")
        trace = self.record("steps", STEPS, options=("--mode", "trace", "--record-shapes", "--profile-memory"))
        version = subprocess.run([PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], text=True,
                                 capture_output=True, check=True).stdout.strip()
        packages = f"{PACKAGE}:{interpreters.CACHE}/client-{version}"
        done = subprocess.run([PYTHON, "-c", SCRIPT, trace.path], text=True, capture_output=True, check=False,
                              env={**os.environ, "PYTHONPATH": packages, "PTRACE_PROF_BIN": profiler.BINARY})
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual({name: said["counts"][name] for name in ALWAYS}, ALWAYS)
        self.assertEqual({name: said["flops"][name] for name in FLOPS}, FLOPS)
        self.assertEqual(said["memory"]["aten::mm"], 8791040)
        self.assertTrue(said["mean"])
        self.assertEqual(said["shapes"], MATRICES)
        self.assertEqual(len(said["modules"]), 10)
        self.assertEqual(said["stacks"], ["Linear.forward"])
        self.assertIn("Tensor", said["overloads"])
        self.assertRegex(said["table"][0], r"^Name +Self CPU % +.*# of Calls")
        self.assertRegex(said["table"][2], rf"^aten::copy_ .* {said['counts']['aten::copy_']}\b")
        self.assertEqual(said["tensors"], [[[256, 64], "float32", "Adam"]])
        self.assertEqual(said["frame"], [len(trace.names), ALWAYS["aten::mm"], 1050])
        self.assertEqual(said["arrow"][0], len(trace.memory))
        self.assertEqual(said["arrow"][1], sum(max(one["args"]["Bytes"], 0) for one in trace.memory))
        self.assertIn("not by stack:1 and module", said["refused"])
        self.assertIn("--group-by colour: there is no such choice", said["unknown"])
        self.assertFinishes()


if __name__ == "__main__":
    case.main()

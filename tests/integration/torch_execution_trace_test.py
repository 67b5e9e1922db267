"""PyTorch's execution trace, made from outside: compared with what the job's own observer writes for the same steps."""
import collections
import gzip
import json
import os
import pathlib
import resource
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.torch_job import STEPS, TorchCase  # noqa: E402

WITH = ("--execution-trace",)
PROCESS, THREAD = (f"[pytorch|profiler|execution_trace|{kind}]" for kind in ("process", "thread"))
KEYS = {"id", "name", "ctrl_deps", "inputs", "outputs", "attrs"}
VALUES = {"values", "shapes", "types", "strides"}
GONE_WITHIN = 10  # s; the lease is 3


def attributes(node):
    return {one["name"]: one["value"] for one in node["attrs"]}


class ObservedCase(TorchCase):
    def setUp(self):
        super().setUp()
        if self.torch < (2,):
            self.skipTest("this PyTorch has no observer")

    def export(self, trace, ending=".et.json"):
        out = trace.path.with_suffix(ending)
        said = profiler.must("export", trace.path, "-o", out).errors
        content = out.read_bytes()
        out.unlink()
        return json.loads(gzip.decompress(content) if ending.endswith(".gz") else content), said

    def assertIsSound(self, document):
        self.assertTrue(document["schema"].startswith("1."), document["schema"])
        nodes = document["nodes"]
        ids = [node["id"] for node in nodes]
        self.assertEqual(len(set(ids)), len(ids))
        self.assertEqual([node["name"] for node in nodes if node["ctrl_deps"] not in set(ids)], [])
        for node in nodes:
            self.assertLessEqual(KEYS, node.keys())
            self.assertEqual((node["inputs"].keys(), node["outputs"].keys()), (VALUES, VALUES))
            if node["id"] != 1:
                self.assertLess(node["ctrl_deps"], node["id"])
        self.assertEqual([node["id"] for node in nodes if node["name"] == PROCESS], [1])

    def essence(self, document):
        """Nodes in the order of their ids: name, place of the parent, shapes and types. Numbers of threads, operators
        and tensors go on over the life of a process."""
        nodes = sorted(document["nodes"], key=lambda node: node["id"])
        place = {node["id"]: number for number, node in enumerate(nodes)}
        return [(node["name"], place[node["ctrl_deps"]], node["inputs"]["shapes"], node["inputs"]["types"],
                 node["outputs"]["shapes"], node["outputs"]["types"], attributes(node).get("op_schema"),
                 attributes(node).get("scope")) for node in nodes]

    def assertIsLeft(self):
        """No file of ours is open in the job, and its own observer works."""
        deadline = time.monotonic() + GONE_WITHIN
        while "ptrace-prof" in self.files() and time.monotonic() < deadline:
            self.ask("steps", 1)
            time.sleep(0.1)
        self.assertNotIn("ptrace-prof-trace", self.files())
        self.assertIsSound(self.read("observed", 1))

    def files(self):
        folder = f"/proc/{self.target.pid}/fd"
        return " ".join(os.readlink(f"{folder}/{number}") for number in os.listdir(folder)
                        if os.path.lexists(f"{folder}/{number}"))


class ExecutionTrace(ObservedCase):
    shares = True

    def test_as_pytorchs_own(self):
        own = self.read("observed", STEPS)
        self.assertIsSound(own)
        for options in (WITH, (*WITH, "--mode", "trace", "--record-shapes", "--profile-memory")):
            with self.subTest(options):
                trace = self.record("steps", STEPS, options=options)
                document, said = self.export(trace)
                self.assertIsSound(document)
                self.assertEqual(document["schema"], own["schema"])
                self.assertEqual(len(document["nodes"]), len(own["nodes"]))
                self.assertEqual(self.essence(document), self.essence(own))
                self.assertNotIn("execution trace", trace.said + said)
                self.assertEqual(self.export(trace, ".et.json.gz")[0], document)
        self.assertIsLeft()
        self.assertFinishes()

    def test_all_threads(self):
        document, _ = self.export(self.record("threads", STEPS, 3, options=WITH))
        self.assertIsSound(document)
        names = collections.Counter((attributes(node)["tid"], node["name"]) for node in document["nodes"])
        self.assertEqual(sorted(count for (_, name), count in names.items() if name == "aten::mm"), 3 * [190])
        self.assertEqual(sum(count for (_, name), count in names.items() if name == THREAD), 4)  # and the main thread
        self.assertFinishes()

    def test_backward_for_a_thread_that_has_run_nothing(self):
        """PyTorch's observer looks up the last operator of that thread, and does not check that there is one."""
        self.ask("cross")
        recording = self.recording(*WITH)
        self.ask("crossed", 3)
        self.ask("steps", STEPS)
        trace = self.end(recording)
        document, _ = self.export(trace)
        self.assertIsSound(document)
        self.assertIn("note: PyTorch's execution trace has gaps (1): a backward pass", trace.said)
        self.assertGreaterEqual(sum(node["name"] == "aten::mm" for node in document["nodes"]), 180)
        self.assertFinishes()

    def test_children_write_nothing(self):
        own = self.read("observed", STEPS)
        recording = self.recording(*WITH)
        self.assertEqual(self.ask("forked", STEPS), "0")
        self.ask("steps", STEPS)
        document, _ = self.export(self.end(recording))
        self.assertIsSound(document)
        self.assertEqual(self.essence(document), self.essence(own))
        self.assertFinishes()

    def test_without_its_collector(self):
        self.ask("again")
        self.ask("steps", 2 * STEPS)
        result = self.ask("result")
        self.ask("again")
        recording = self.recording(*WITH)
        self.ask("steps", STEPS)
        for child in recording.children():
            os.kill(child, 9)
        recording.process.kill()
        recording.wait()
        self.ask("steps", STEPS)
        self.assertEqual(self.ask("result"), result)
        self.assertIsLeft()
        self.assertIsSound(self.export(self.record("steps", STEPS, options=WITH))[0])
        self.assertFinishes()

    def test_the_job_removes_it(self):
        recording = self.recording(*WITH)
        self.ask("steps", STEPS)
        self.ask("unobserved")
        self.ask("steps", STEPS)
        trace = self.end(recording)
        self.assertIn("note: PyTorch's execution trace ends early: the process has removed PyTorch's observer", trace.said)
        document, _ = self.export(trace)
        self.assertIsSound(document)
        self.assertEqual(self.essence(document), self.essence(self.read("observed", STEPS)))
        self.assertIsLeft()
        self.assertFinishes()


class OfAChangedJob(ObservedCase):
    def test_in_the_middle_of_steps(self):
        """Operators that run at the begin and at the end are not whole."""
        self.target.tell("threads 100000 3")
        for _ in range(3):
            recording = self.recording(*WITH)
            time.sleep(0.3)
            document, _ = self.export(self.end(recording))
            self.assertIsSound(document)
            self.assertGreater(len(document["nodes"]), 1000)
        self.assertUnharmed(self.target.pid)

    def test_where_files_are_limited(self):
        """A file beyond the limit would end the job."""
        hard = resource.prlimit(self.target.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(self.target.pid, resource.RLIMIT_FSIZE, (256 << 20, hard))
        trace = self.record("steps", STEPS, options=WITH)
        self.assertIn("note: PyTorch's execution trace is not recorded: the process cannot make or open a file", trace.said)
        self.assertHasTheNumbers(trace)
        self.assertFinishes()

    def test_beside_the_jobs_own(self):
        self.target.tell("observed 100000 /dev/null")
        time.sleep(0.5)
        recording = self.recording(*WITH)
        time.sleep(0.3)
        trace = self.end(recording)
        self.assertIn("note: PyTorch's execution trace is not recorded: the process makes one of its own", trace.said)
        finished = profiler.run("export", trace.path, "-o", trace.path.with_suffix(".et.json"))
        self.assertNotEqual(finished.status, 0)
        self.assertIn("error: the trace has no execution trace of PyTorch", finished.errors)
        self.assertUnharmed(self.target.pid)


class Refused(TorchCase):
    def test_by_a_version_without_it(self):
        if self.torch >= (2,):
            self.skipTest("this PyTorch has an observer")
        trace = self.record("steps", STEPS, options=WITH)
        self.assertIn("note: PyTorch's execution trace is not recorded: this version has no observer", trace.said)
        self.assertHasTheNumbers(trace)
        self.assertFinishes()

    def test_without_the_hook(self):
        finished = profiler.run("record", "--pid", self.target.pid, "--execution-trace", "--torch", "off")
        self.assertNotEqual(finished.status, 0)
        self.assertIn("--execution-trace is made by PyTorch, but --torch off brings no hook in", finished.errors)


if __name__ == "__main__":
    case.main()

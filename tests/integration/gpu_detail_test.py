#!/usr/bin/env python3
"""`record --gpu` at each level of detail, and of less simple jobs: launches through the driver API, two GPUs, code that
is loaded late, threads without Python. On the doubles of CUDA's libraries."""
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, gpu_case, profiler  # noqa: E402

KERNEL = "softmax_warp"
# Calls of the job that launch kernels or graphs, or concern graphs; then all calls of the default level.
COARSE = {"__cudaLaunchKernel", "cudaLaunchKernel", "cudaGraphLaunch", "cudaGraphInstantiate", "cudaStreamBeginCapture",
          "cudaStreamEndCapture", "cuLaunchKernel"}
DEFAULT = COARSE | {"cudaMemcpyAsync", "cudaMemsetAsync", "cudaStreamSynchronize", "cudaMalloc"}


class GpuDetail(gpu_case.GpuCase):
    def capture(self, target, *options):
        """A recording with a graph from before and one that is captured meanwhile."""
        recording = self.start_recording(target, *options)
        recording.shows(KERNEL)
        for word, answer in (("capture", "capturing"), ("captured", "captured"), ("ping", "pong")):
            target.tell(word)
            target.expect(answer)
        target.tell("replay")
        target.expect("replayed")
        recording.shows("cudaGraphInstantiate")
        return self.stop(recording)

    def kinds(self):
        return collections.Counter(one["kind"] for one in self.operations)

    def test_coarse(self):
        """12.4 can record all calls or none. The trace must be the same."""
        for version in ("130001", "22"):
            with self.subTest(version=version):
                target = self.job("--triton", version=version)
                self.capture(target, "--gpu-detail", "coarse")
                self.assertUnharmed(target.pid)
                kinds = self.kinds()
                self.assertEqual(set(kinds), {"kernel"}, kinds)  # kernels in graphs are included
                self.assertEqual({one["call"] for one in self.calls} - COARSE, set())
                self.assertIn("cuLaunchKernel", {one["call"] for one in self.calls})
                self.assertGreater(len({one["graph"] for one in self.operations}), 2)
                self.assertEqual((self.totals["unseen"], self.totals["replays_unseen"]), (0, 0), self.totals)
                self.assertAddsUp()
                self.assertTrue_to(self.truth(target), ["kernel"])

    def test_default(self):
        target = self.job("--triton")
        self.capture(target)
        self.assertLessEqual(set(self.kinds()) - {"overhead"}, {"kernel", "memcpy", "memset", "sync"})
        self.assertEqual({one["call"] for one in self.calls} - DEFAULT, set())
        self.assertLess({"cudaMemcpyAsync", "cudaStreamSynchronize"}, {one["call"] for one in self.calls})
        self.assertGreater(len({one["graph"] for one in self.operations}), 2)
        self.assertEqual(self.totals["replays_unseen"], 0)
        self.assertTrue_to(self.truth(target))

    def test_launches_by_the_driver(self):
        """Launches like those of Triton: each is under the function that made it, in both modes."""
        for mode, source in (("trace", "exact"), ("sample", "launch")):
            with self.subTest(mode):
                target = self.job("--triton", "--rate", "300")
                self.record(target, "--mode", mode, duration="2s")
                truth = self.truth(target)
                self.assertTrue_to(truth)
                self.assertAddsUp()
                fused = [one for one in self.operations if one["name"].startswith("triton_")]
                self.assertGreater(len(fused), 10)
                within = fused[3:-3]
                self.assertEqual({one["source"] for one in within}, {source})
                self.assertEqual({[name.split(".")[-1] for name in one["stack"] if "launch_by" not in name][-1]
                                  for one in within}, {"fused"})

    def test_two_gpus(self):
        target = self.job("--devices", "2", devices=2)
        self.record(target, "--mode", "trace")
        truth = self.truth(target)
        self.assertTrue_to(truth)
        self.assertAddsUp()
        self.assertEqual([one["device"] for one in self.devices], [0, 1])
        true = {(one["correlation"], one["node"]): one["device"] for one in truth["operations"]}
        lanes = collections.defaultdict(set)
        for one in self.operations:
            if one["kind"] in ("kernel", "memcpy", "memset"):
                self.assertEqual(one["device"], true[one["correlation"], one["node"]])
                lanes[one["device"]].add(one["stream"])
        self.assertEqual({device: len(streams) for device, streams in lanes.items()}, {0: 1, 1: 1})
        self.assertEqual(lanes[0] & lanes[1], set())
        text = profiler.must("export", self.folder / "out.pftrace", "--format", "chrome", "-o", "-").output
        self.assertIn("GPU 1", text)

    def test_two_slices_of_a_gpu(self):
        target = self.job("--devices", "2", devices=2, mig=1)
        self.record(target)
        self.assertTrue_to(self.truth(target))
        self.assertEqual([one["device"] for one in self.devices], [0, 1])
        self.assertEqual(len({one["uuid"] for one in self.devices}), 2, self.devices)
        self.assertEqual({one["uuid"][:4] for one in self.devices}, {"MIG-"})
        self.assertEqual({one["threads"] for one in self.devices}, {2048})

    def test_code_that_is_loaded_late(self):
        target = self.job(load_every=50)
        self.record(target)
        names = collections.Counter(one["name"] for one in self.operations if one["kind"] == "overhead")
        self.assertGreater(names["Lazy Function Loading"], 3, names)
        self.assertGreater(names["JIT PTX to cubin (compile)"], 3, names)
        self.assertEqual(self.totals["unknown"], 0)
        self.assertTrue_to(self.truth(target))

    def test_threads_without_python(self):
        """Threads of the autograd engine: their work is under the function that waits for them, and labelled so."""
        target = self.job()
        self.record(target, "--mode", "trace")
        truth = self.truth(target)
        functions = {one["correlation"]: one["python"] for one in truth["operations"]}
        backward = [one for one in self.operations if one["kind"] == "kernel" and
                    functions[one["correlation"]] == "_engine_run_backward"]
        self.assertGreater(len(backward), 20)
        self.assertEqual({one["source"] for one in backward}, {"backward"})
        self.assertEqual({"_engine_run_backward" in [name.split(".")[-1] for name in one["stack"]] for one in backward}, {True})
        others = {one["source"] for one in self.operations if one["kind"] == "kernel"} - {"backward"}
        self.assertEqual(others, {"exact"})

    def test_two_threads_that_wait_for_the_engine(self):
        """Two threads wait at different places. What the engine launches then gets the right stack, or none and is
        counted."""
        target = self.job("--unlike", "--rate", "0")
        finished = self.record(target, "--mode", "trace")
        truth = self.truth(target)
        functions = {one["correlation"]: one["python"] for one in truth["operations"]}
        names = {id(one): {name.split(".")[-1] for name in one["stack"]} for one in self.operations}
        elsewhere = {one["stream"] for one in self.operations if "update_elsewhere" in names[id(one)]}
        self.assertEqual(len(elsewhere), 1)
        backward = [one for one in self.operations if one["kind"] == "kernel" and
                    functions[one["correlation"]] == "_engine_run_backward"]
        told = [one for one in backward if one["source"] == "backward"]
        self.assertGreater(len(told), 20)
        for one in told:
            self.assertEqual("backward_elsewhere" in names[id(one)], one["stream"] in elsewhere, one)
        self.assertGreater(self.totals["ambiguous"], 0)
        self.assertEqual(self.totals["ambiguous"], len(backward) - len(told))
        self.assertIn("of a backward pass that several threads waited for", finished.errors)
        self.assertAddsUp()


if __name__ == "__main__":
    case.main()

"""`record --gpu` of a job on the doubles of CUDA's libraries: the trace against what the job really did."""
import collections
import json
import os
import pathlib
import signal
import sys
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, gpu_case, profiler  # noqa: E402
from support.daemon import within_deadline  # noqa: E402
from support.gpu_case import DOUBLES, EDGE, ROOT  # noqa: E402

NVML = os.environ.get("PP_FAKE_NVML", str(ROOT / "build/bin/tests/doubles/nvml"))
KERNEL = "softmax_warp"  # part of a kernel's name
LAUNCHES = (211, 505, 430, 41, 51, 311)  # calls of the runtime that the job makes
GRAPHS = (311,)
CUT = "[truncated]"
DEEPEST = 256  # frames of a stack that is taken at a launch
COARSE = 0.01  # s, between two ticks of the clock that the shim uses


class Launches(gpu_case.GpuCase):
    def sites(self, truth):
        """{correlation: the function of the job that made the call}"""
        return {call["correlation"]: call["python"] for call in truth["calls"] if call["correlation"]}

    def told(self, truth):
        """The launches whose stacks were taken, each of which must be right; and the launches from threads with Python,
        between the first and the last of these, whose stacks were not taken."""
        sites = self.sites(truth)
        launches = {one["correlation"]: one for one in self.calls if one["cbid"] in LAUNCHES}
        told = [one for one in launches.values() if one["source"] == "launch"]
        self.assertGreater(len(told), 20)
        for one in told:
            self.assertStackIs(sites[one["correlation"]], [name.split(".")[-1] for name in one["stack"]])
        starts = [one["start"] for one in told]
        begin, end = min(starts) + EDGE, max(starts) - EDGE  # calls are switched on and off one after the other
        return told, [one for one in launches.values() if one["source"] != "launch" and begin <= one["start"] <= end and
                      sites[one["correlation"]] != "_engine_run_backward"]

    def assertStackIs(self, function, names):
        if names[-1] == CUT:  # frames whose name was lost are not made up
            self.assertRegex(function, "^fresh_")
            self.assertEqual(names[-2], "fresh")
        else:
            self.assertEqual(names[-2:-1], [function], names)
            self.assertIn(names[-1], ("launch", "copy", "fill", "replay"))

    def assertOperationsFollow(self, truth):
        """What was launched has the stack of its launch."""
        calls = {one["correlation"]: one for one in self.calls if one["cbid"] in LAUNCHES}
        for one in self.operations:
            if one["correlation"] in calls and one["kind"] in ("kernel", "memcpy", "memset"):
                call = calls[one["correlation"]]
                self.assertEqual((one["stack"], one["source"]), (call["stack"], call["source"]))


class GpuRecord(Launches):
    def test_every_kernel_is_there_under_the_function_that_launched_it(self):
        target = self.job()
        finished = self.record(target, "--mode", "trace")
        self.assertUnharmed(target.pid)
        truth = self.truth(target)
        self.assertEqual(self.totals["state"], "recording", self.totals)
        self.assertTrue_to(truth)
        self.assertAddsUp()
        self.assertEqual({name: self.totals[name] for name in ("dropped", "invalid", "unseen", "without_launch",
                                                               "clock_violations", "clock_steps")},
                         dict.fromkeys(("dropped", "invalid", "unseen", "without_launch", "clock_violations",
                                        "clock_steps"), 0))
        functions = {(one["correlation"], one["node"]): one["python"] for one in truth["operations"]}
        wrong = collections.Counter()
        for one in self.operations:
            if one["kind"] == "kernel":
                function = functions[one["correlation"], one["node"]]
                names = [name.split(".")[-1] for name in one["stack"]]
                is_there = function in names[-3:] and one["source"] == (
                    "backward" if function == "_engine_run_backward" else "exact")
                wrong[function] += not is_there
        self.assertEqual(+wrong, collections.Counter(), "kernels under another function")
        self.assertRegex(finished.errors, r"GPU of process \d+: [\d,]+ kernels")
        self.assertIn("with a Python stack 100 %", finished.errors)

    def test_samples_and_the_gpu_beside_them(self):
        target = self.job("--rate", "500")
        finished = self.record(target, "--gpu-detail", "full")
        truth = self.truth(target)
        self.assertTrue_to(truth)
        self.assertAddsUp()
        self.assertIn("samples in", finished.errors)
        self.assertIn("GPU of process", finished.errors)

    def test_through_a_daemon(self):
        """The collector is confined as a daemon's is."""
        host = self.serve()
        for mode in ("sample", "trace"):
            with self.subTest(mode):
                target = self.job("--rate", "120")
                self.record(target, "--mode", mode, *host, duration="2s")
                self.assertUnharmed(target.pid)
                self.assertTrue_to(self.truth(target))
                self.assertEqual(self.totals["state"], "recording", self.totals)
                self.assertAddsUp()

    def test_one_at_a_time_has_the_gpu_and_the_other_is_told_who(self):
        host = self.serve()
        target = self.job()
        first = profiler.Recording(target.pid, "--gpu", "-d", "1h", *host)
        self.addCleanup(first.remove)
        first.shows(KERNEL)
        finished = self.record(target, *host, duration="500ms")
        self.assertEqual((self.totals["state"], self.totals["reason"]), ("refused", "BEING_TRACED"), self.totals)
        self.assertRegex(finished.errors, f"the GPU of process {target.pid} is recorded by capture c[0-9a-f]+ of user 0")
        self.assertIn("samples in", finished.errors)
        first.interrupt()
        self.assertRegex(first.wait().errors, r"GPU of process \d+: [\d,]+ kernels")
        self.record(target, *host, duration="500ms")
        self.assertEqual(self.totals["state"], "recording", self.totals)
        self.assertUnharmed(target.pid)

    def test_slow_launches_all_have_the_stack_that_they_were_made_on(self):
        for version in ("130001", "18") if self.minor in (None, "3.11") else ("130001",):
            with self.subTest(version=version):
                target = self.job("--rate", "120", version=version)
                finished = self.record(target, duration="3s")
                self.assertUnharmed(target.pid)
                truth = self.truth(target)
                told, missed = self.told(truth)
                self.assertLessEqual(len(missed), self.totals["stacks_refused"])
                self.assertEqual(self.totals["stacks_lost"], 0)
                self.assertEqual(self.totals["rates"], [200, 20])
                self.assertLess(self.totals["stacks_refused"], len(told))
                self.assertOperationsFollow(truth)
                self.assertAddsUp()
                stays = [notice for notice in self.notices if "CUPTI stays loaded in process" in notice]
                self.assertEqual(len(stays), 1, self.notices)
                looked = [notice for notice in self.notices if "was not checked" in notice]
                self.assertEqual(len(looked), 1, "NVML knows nothing of a double")
                self.assertGreater(self.totals["attributed_launch"], 0)
                self.assertIn("taken at the launch", finished.errors)
                backward = {one["source"] for one in self.operations if one["kind"] == "kernel" and
                            self.sites(truth).get(one["correlation"]) == "_engine_run_backward"}
                self.assertNotIn("launch", backward)

    def test_stacks_that_are_hard_to_take(self):
        target = self.job(script="cuda_launchers.py")
        self.record(target, duration="3s")
        target.tell("ping")
        target.expect("pong")
        self.assertUnharmed(target.pid)
        truth = self.truth(target)
        told, missed = self.told(truth)
        self.assertAddsUp()
        self.assertLessEqual(len(missed), self.totals["stacks_refused"])
        sites = self.sites(truth)
        lengths = {len(one["stack"]) for one in told if sites[one["correlation"]] == "deep"}
        self.assertIn(DEEPEST + 1, lengths)
        self.assertEqual({one["stack"][0] for one in told if len(one["stack"]) > DEEPEST}, {CUT})
        self.assertGreater(len({sites[one["correlation"]] for one in told if one["stack"][-1] != CUT and
                                sites[one["correlation"]].startswith("fresh_")} |
                               {one["correlation"] for one in told if one["stack"][-1] == CUT}), 3)
        self.assertLessEqual({"deep", "short_lived", "steps_of_generator", "copies", "replay"},
                             {sites[one["correlation"]] for one in told})

    def test_forks_while_stacks_are_taken(self):
        target = self.start("cuda_forks.py", env={"PP_CUDA_DOUBLES": DOUBLES}, options=["-W", "ignore"])
        self.record(target, "--no-subprocesses", duration="1s")
        self.assertGreater(self.totals["attributed_launch"], 0)
        self.assertUnharmed(target.pid)
        target.tell("finish")
        self.assertLessEqual(int(target.expect("bad").text.split()[1]), 1)
        self.assertEqual((target.wait(), target.stderr()), (0, ""))


class WhateverPython(Launches):
    """Tests that depend on CUPTI and not on CPython's version, so they run once."""

    def test_a_child_of_a_job_that_is_recorded_is_left_alone(self):
        """The child has a copy of the shim's state, and of a CUPTI whose threads are only in its parent."""
        target = self.start("cuda_forks.py", env={"PP_CUDA_DOUBLES": DOUBLES}, options=["-W", "ignore"])
        recording = profiler.Recording(target.pid, "--gpu", "--no-subprocesses", "-d", "1h")
        self.addCleanup(recording.remove)
        recording.shows(KERNEL)
        target.tell("child")
        child = target.expect("child").pid
        for _ in range(2):
            of_child = profiler.Recording(child, "--gpu", "-d", "500ms")
            self.addCleanup(of_child.remove)
            finished = of_child.wait()
            self.assertEqual(finished.status, 0, finished.errors)
            self.read(of_child.trace)
            self.assertEqual((self.totals["state"], self.totals["reason"]), ("refused", "NO_CUDA"), finished.errors)
        self.assertUnharmed(child)
        os.kill(child, signal.SIGUSR1)
        self.assertEqual(target.expect("calls").text, "calls 0")
        recording.interrupt()
        self.assertRegex(recording.wait().errors, r"GPU of process \d+: [\d,]+ kernels")
        target.tell("finish")
        target.expect("bad")
        self.assertEqual((target.wait(), target.stderr()), (0, ""))

    def test_fast_launches_are_told_as_often_as_is_allowed(self):
        target = self.job("--rate", "20000", "--threads", "3")
        finished = self.record(target, duration="2s")
        truth = self.truth(target)
        told, missed = self.told(truth)
        self.assertGreater(len(missed), 0)
        self.assertGreaterEqual(self.totals["stacks_refused"], len(missed))
        self.assertOperationsFollow(truth)
        self.assertAddsUp()
        self.assertRegex(finished.errors, r"stacks not taken at the launch: [\d,]+ because launches came too fast")
        groups = collections.defaultdict(list)
        for one in told:
            groups[one["tid"], one["cbid"] in GRAPHS].append(one["start"])
        for (_, is_graph), starts in groups.items():
            rate = 20 if is_graph else 200
            seconds = (max(starts) - min(starts)) / 1e9 + COARSE
            self.assertLessEqual(len(starts), rate * seconds + rate / 4 + 1)

    def test_a_refusal_leaves_python_as_it_is(self):
        target = self.start("traced.py")
        finished = profiler.must("record", "--gpu", "--mode", "trace", "--pid", target.pid, "--duration", "300ms", "-o",
                                 self.folder / "none.pftrace")
        self.assertIn("note: the GPU is not recorded", finished.errors)
        self.assertIn("calls and returns in", finished.errors)
        self.assertRegex(finished.errors, r"GPU of process \d+: not recorded")
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_another_tool_has_cupti(self):
        target = self.job(foreign=1)
        finished = self.record(target, "--mode", "trace", duration="500ms")
        self.assertEqual((self.totals["state"], self.totals["reason"]), ("refused", "CONFLICT_SUBSCRIBER"), self.totals)
        self.assertIn("calls and returns in", finished.errors)

    def test_the_profiler_of_pytorch_runs(self):
        """Nothing is taken from it. PyTorch's own flag shows that it runs, as CUPTI does not report it."""
        target = self.job()
        target.tell("torch")
        self.assertEqual(target.expect("torch").text, "torch True")
        finished = self.record(target, "--mode", "trace", duration="500ms")
        self.assertEqual((self.totals["state"], self.totals["reason"]), ("refused", "CONFLICT_SUBSCRIBER"), self.totals)
        self.assertIn("PyTorch's profiler runs", finished.errors)
        self.assertIn("calls and returns in", finished.errors)
        check = self.foreseen(target)
        self.assertEqual((check["verdict"], check["reason"]), ("limited", "CONFLICT_SUBSCRIBER"), check)
        self.record(target, "--force")
        self.assertEqual(self.totals["state"], "recording", self.totals)
        target.tell("torch")
        self.assertEqual(target.expect("torch").text, "torch False")
        self.assertEqual(self.foreseen(target)["verdict"], "ok")
        self.record(target)
        self.assertEqual(self.totals["state"], "recording", self.totals)
        self.assertUnharmed(target.pid)

    def foreseen(self, target):
        done = json.loads(profiler.must("doctor", "--json", "--pid", target.pid).output)
        return next(check for check in done["checks"] if check["subject"] == "gpu")

    def test_what_doctor_foresees(self):
        check = self.foreseen(self.job())
        self.assertEqual((check["verdict"], check["reason"]), ("ok", None), check)
        self.assertIn("libcupti.so", check["cause"])
        for script, arguments, environment, reason in (
                ("cuda_job.py", (), {"CUDA_INJECTION64_PATH": "/opt/tool.so"}, "CONFLICT_SUBSCRIBER"),
                ("cuda_job.py", ("--version", "22"), {"CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps"}, "MPS_UNSAFE")):
            with self.subTest(reason):
                target = self.start(script, "--truth", self.folder / "truth.json", *arguments,
                                    env={"PP_CUDA_DOUBLES": DOUBLES, **environment})
                check = self.foreseen(target)
                self.assertEqual((check["verdict"], check["reason"]), ("limited", reason), check)
                self.assertUnharmed(target.pid)

    def test_a_gpu_that_is_full_is_left_alone(self):
        target = self.job()
        for free, options, state in ((100, (), "refused"), (100, ("--force",), "recording"), (300, (), "recording")):
            with self.subTest(state, free=free), mock.patch.dict(
                    os.environ, LD_LIBRARY_PATH=NVML, PP_FAKE_NVML=f"process={target.pid},free={free}"):
                self.record(target, "--gpu-counters", "on", *options, duration="500ms")
                self.assertEqual(self.totals["state"], state, self.totals)
                if state == "refused":
                    self.assertEqual(self.totals["reason"], "LOW_GPU_MEMORY")
                    self.assertIn("100 MiB of memory are free", self.totals["message"])
        self.assertUnharmed(target.pid)

    def test_launches_without_kernels(self):
        target = self.job(no_kernels=1)
        self.record(target, "--mode", "trace", duration="5s")
        self.assertEqual((self.totals["state"], self.totals["reason"]), ("no kernels", "NO_KERNELS_SEEN"), self.totals)
        self.assertGreater(self.totals["unseen"], 0)
        self.record(target, "--gpu-detail", "coarse", duration="5s")  # without the calls that wait
        self.assertEqual((self.totals["state"], self.totals["reason"]), ("no kernels", "NO_KERNELS_SEEN"), self.totals)

    def records_now(self, target, recording):
        """The trace has a message once CUPTI records. The job gets a "ping", because the shim is not loaded into an
        idle job."""
        target.tell("ping")
        target.expect("pong")
        return recording.spool.exists() and b"was not checked" in recording.spool.read_bytes()

    def test_what_the_library_drops_is_counted(self):
        """The count is exact, as launches happen only while everything is recorded."""
        target = self.job(drop_every=10)
        target.tell("pause")
        target.expect("paused")
        recording = self.start_recording(target)
        self.assertTrue(within_deadline(lambda: self.records_now(target, recording)))
        target.tell("resume")
        target.expect("resumed")
        recording.shows(KERNEL)
        target.tell("pause")
        target.expect("paused")
        finished = self.stop(recording)
        target.tell("resume")
        target.expect("resumed")
        truth = self.truth(target)
        kinds = ("kernel", "memcpy", "memset")
        seen = {(one["correlation"], one["node"]) for one in self.operations if one["kind"] in kinds}
        missing = [one for one in truth["operations"] if one["kind"] in kinds and one["correlation"] and
                   (one["correlation"], one["node"]) not in seen]
        lost = [one for one in missing if one["kind"] == "kernel" and not one["graph"]]  # unknown for graphs
        self.assertGreater(len(lost), 5)
        self.assertEqual(self.totals["unseen"], len(lost), self.totals)
        self.assertEqual(self.totals["dropped"], len(missing), self.totals)
        self.assertIn(f"kernels lost {len(lost):,}, {len(missing):,} records dropped by CUPTI", finished.errors)
        self.assertAddsUp()

    def test_correlations_wrap(self):
        # Calls are numbered from when the shim subscribes, and recorded a little later. The wrap has to come after
        # that.
        target = self.job(correlation=0xfffff800)
        self.record(target, duration="2s")  # not traced: records come from the start
        self.assertAddsUp()
        self.assertEqual((self.totals["unseen"], self.totals["without_launch"]), (0, 0))
        self.assertGreater(max(one["correlation"] for one in self.operations), 1 << 32)


if __name__ == "__main__":
    case.main()

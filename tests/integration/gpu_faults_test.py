#!/usr/bin/env python3
"""`record --gpu` where the doubles of CUDA's libraries have a fault, a process dies, or another tool interferes. What
is in the trace is true, what is missing is counted, the reason is reported, and Python is recorded all the same."""
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, gpu_case, profiler  # noqa: E402
from support.daemon import gone, within_deadline  # noqa: E402
from support.gpu_case import TROUBLE  # noqa: E402

KERNEL = "softmax_warp"  # part of a kernel's name
HOUR = 3600 * 10**9
CAPTURED = 7  # launches in the graph that the job makes on request
REPLAYED = "_Z8capturedv"


class GpuFaults(gpu_case.GpuCase):
    def assertEnded(self, finished, reason, *words):
        """The GPU's part of the recording ended before the capture did; the samples did not."""
        self.assertEqual((self.totals["state"], self.totals["reason"]), ("ended", reason), self.totals)
        for word in words:
            self.assertIn(word, self.totals["message"])
            self.assertIn(word, finished.errors)
        self.assertIn("samples in", finished.errors)
        self.assertGreater(self.totals["kernels"], 0)

    def assertKernelsAreTrue(self, truth):
        true = {(one["correlation"], one["node"]): one for one in truth["operations"] if one["kind"] == "kernel"}
        errors = []
        for one in self.operations:
            if one["kind"] == "kernel" and self.is_linked(one):
                was = true[one["correlation"], one["node"]]
                self.assertEqual(one["name"], was["name"])
                self.assertLess(abs(one["start"] - was["start"]), gpu_case.WITHIN)
                errors.append(one["start"] - was["start"])
        self.assertGreater(len(errors), 0)
        self.assertMostlyWithin(errors)
        self.assertUnlinkedAre(truth)

    def until_it_ended(self, target, *words):
        """Records until the trace reports the end of the GPU's part, then Python alone for a little longer."""
        recording = self.start_recording(target)
        recording.shows(KERNEL)
        for word, answer in words:
            target.tell(word)
            target.expect(answer)
        recording.shows("the GPU is not recorded any more")
        target.tell("ping")
        target.expect("pong")
        return self.stop(recording)

    def steps_of(self, target):
        target.tell("ping")
        return int(target.expect("pong").text.split()[1])

    def test_times_that_are_lost(self):
        for options in ({"zero_after": 2000}, {"pool_records": 32}):  # the shim asks for 64 of them
            with self.subTest(options):
                target = self.job(**options)
                finished = self.until_it_ended(target)
                self.assertUnharmed(target.pid)
                self.assertEnded(finished, "CUPTI_BLOCKED", "reported invalid times")
                self.assertGreater(self.totals["invalid"], 100)
                self.assertRegex(finished.errors, r"[\d,]+ with impossible times")
                self.assertAddsUp()
                self.assertKernelsAreTrue(self.truth(target))

    def test_a_clock_of_another_tools_is_fitted_to_ours(self):
        for mode in ("sample", "trace"):
            with self.subTest(mode):
                target = self.job(clock_ticks_per_us=2419, clock_drift_ppb=70_000)
                finished = self.record(target, "--mode", mode)
                self.assertUnharmed(target.pid)
                truth = self.truth(target)
                self.assertTrue_to(truth)
                self.assertAddsUp()
                self.assertEqual((self.totals["state"], self.totals["clock_steps"], self.totals["clock_violations"]),
                                 ("recording", 0, 0))
                self.assertIn("GPU times are converted to our clock", finished.errors)

    def test_a_clock_of_another_tools_is_set(self):
        """The clock of another tool is set, or replaced by another one. The recording goes on, and invents nothing
        across that."""
        for options in ({"clock_step_ns": HOUR}, {"clock_step_ticks_per_us": 1000}, {"clock_step_ticks_per_us": 3001}):
            with self.subTest(options):
                target = self.job(clock_ticks_per_us=2419, clock_step_after=0, on_word=1, **options)
                recording = self.start_recording(target)
                recording.shows(KERNEL)
                target.tell(TROUBLE[0])
                target.expect(TROUBLE[1])
                told = time.monotonic_ns()
                target.tell("capture")
                target.expect("capturing")
                target.tell("captured")
                self.assertEqual(target.expect("captured").text, "captured whole")
                recording.shows(REPLAYED)
                finished = self.stop(recording)
                self.assertUnharmed(target.pid)
                self.assertEqual((self.totals["state"], self.totals["clock_steps"]), ("recording", 1), self.totals)
                self.assertIn("1 steps of the clock", finished.errors)
                self.assertGreater(self.totals["uncovered_ns"], 10_000_000, "around the step")
                self.assertAddsUp()
                self.assertKernelsAreTrue(self.truth(target))
                for is_after in (False, True):
                    self.assertGreater(sum((one["start"] > told) == is_after for one in self.operations), 50)

    def test_a_clock_of_another_tools_with_a_cupti_that_has_no_times_then(self):
        """Documented for 12.6 update 2 to 13.0: at the start of a recording, and after the GPU was idle."""
        for version, has_bug in (("28", True), ("130001", True), ("130300", False)):
            with self.subTest(version):
                target = self.job(version=version, clock_ticks_per_us=2419, callback_zeros_ms=200)
                recording = self.start_recording(target)
                recording.shows(KERNEL)
                target.tell("pause")
                target.expect("paused")
                time.sleep(0.3)  # idle
                target.tell("resume")
                resumed = int(target.expect("resumed").text.split()[1])
                time.sleep(0.6)
                self.stop(recording)
                self.assertUnharmed(target.pid)
                self.assertEqual(self.totals["state"], "recording", self.totals)
                told = [notice for notice in self.notices if "fixed in 13.1): such kernels" in notice]
                self.assertEqual((len(told), self.totals["invalid"] > 100), (has_bug, has_bug), self.totals)
                self.assertAddsUp()
                self.assertKernelsAreTrue(self.truth(target))
                after = [one["start"] - resumed for one in self.operations if one["kind"] == "kernel"]
                self.assertEqual(any(0 < since < 150_000_000 for since in after), not has_bug)
                self.assertTrue(any(since > 250_000_000 for since in after))

    def test_a_clock_of_another_tools_with_a_cupti_that_has_no_times_at_all(self):
        target = self.job(clock_ticks_per_us=2419, callback_zeros_ms=100_000)
        recording = self.start_recording(target)
        recording.shows("the GPU is not recorded any more")
        target.tell("ping")
        target.expect("pong")
        finished = self.stop(recording)
        self.assertUnharmed(target.pid)
        self.assertEqual((self.totals["state"], self.totals["reason"], self.totals["kernels"]), ("ended", "CUPTI_BLOCKED", 0))
        self.assertIn("a bug fixed in 13.1", self.totals["message"])
        self.assertIn("Use CUDA 13.1 or later", finished.errors)
        self.assertGreater(self.totals["invalid"], 1000)
        self.truth(target)

    def test_a_clock_of_another_tools_is_taken_away(self):
        target = self.job(clock_ticks_per_us=2419, clock_step_after=0, on_word=1, clock_step_ticks_per_us=0)
        finished = self.until_it_ended(target, TROUBLE)
        self.assertUnharmed(target.pid)
        self.assertEnded(finished, "CONFLICT_SUBSCRIBER", "has changed the clock of CUPTI")
        self.assertKernelsAreTrue(self.truth(target))

    def test_a_clock_of_another_tools_that_could_not_be_fitted(self):
        """The job is killed, or the recording ends, before the clock is fitted: such slow readings allow no fit."""
        for is_killed in (False, True):
            with self.subTest(is_killed=is_killed):
                target = self.job("--threads", "2", clock_ticks_per_us=2419, timestamp_ms=4)
                recording = self.start_recording(target)
                recording.shows("GPU times are converted to our clock")
                begun = self.steps_of(target)
                self.assertTrue(within_deadline(lambda: self.steps_of(target) > begun + 20))
                if is_killed:
                    target.signal(signal.SIGKILL)
                    target.wait()
                    finished = recording.wait()
                    self.read(recording.trace)
                else:
                    finished = self.stop(recording)
                self.assertEqual((self.totals["state"], self.totals["reason"]), ("ended", "CONFLICT_SUBSCRIBER"), self.totals)
                self.assertIn("there was no time to compare it", finished.errors)
                self.assertEqual((self.operations, self.totals["kernels"]), ([], 0))
                self.assertGreater(self.totals["invalid_records"], 50)
                notice, = [notice for notice in self.notices if "are left out: their times are unknown" in notice]
                self.assertGreater(int(notice.split()[0]), 50)
                self.assertIn("samples in", finished.errors)
                self.assertGreater(self.totals["uncovered_ns"], 1_000_000, "all of it")
                if not is_killed:
                    self.assertUnharmed(target.pid)
                    self.truth(target)

    def test_the_clock_of_cupti_is_set(self):
        target = self.job(clock_step_ns=HOUR, clock_step_after=0, on_word=1)
        finished = self.until_it_ended(target, TROUBLE)
        self.assertUnharmed(target.pid)
        self.assertIn(self.totals["reason"], ("CONFLICT_SUBSCRIBER", "CUPTI_BLOCKED"))  # either may be first
        self.assertEnded(finished, self.totals["reason"])
        self.assertGreater(self.totals["invalid"] + self.totals["invalid_records"], 0)
        self.assertKernelsAreTrue(self.truth(target))  # none of them is an hour off

    def test_cupti_breaks_down(self):
        for options, words in (({"flush_result": 999, "flush_fails_after": 0}, ("(cuptiActivityFlushAll): error 999",)),
                               ({"fatal_after": 0, "fatal_result": 26}, ("gave up", "error 26"))):
            with self.subTest(options):
                target = self.job(**options, on_word=1)
                finished = self.until_it_ended(target, TROUBLE)
                self.assertUnharmed(target.pid)
                self.assertEnded(finished, "CUPTI_BLOCKED", *words)
                self.assertKernelsAreTrue(self.truth(target))

    def test_kernels_that_do_not_come(self):
        """Kernels are missing from the start, also those of replayed graphs; or from some time on. A kernel for which
        CUPTI has no times does not count as missing."""
        for arguments, options, told in (((), {}, "reports no kernel:"), (("--replays",), {}, "reports no kernel:"),
                                         ((), {"on_word": 1}, "reports no kernel any more:")):
            with self.subTest(arguments, **options):
                target = self.job(*arguments, no_kernels=1, **options)
                recording = self.start_recording(target)
                if options:
                    recording.shows(KERNEL)
                    target.tell(TROUBLE[0])
                    target.expect(TROUBLE[1])
                recording.shows(told)
                finished = self.stop(recording)
                self.assertUnharmed(target.pid)
                self.assertEqual((self.totals["state"], self.totals["reason"]), ("no kernels", "NO_KERNELS_SEEN"))
                self.assertIn("calls that launch kernels or graphs were seen", finished.errors)
                self.truth(target)
        target = self.job("--rate", "60", "--threads", "1", zero_after=1)
        self.record(target, duration="4s")
        self.assertEqual(self.totals["state"], "recording", self.totals)
        self.assertGreater(self.totals["invalid"], 10)

    def test_records_that_cannot_be_measured(self):
        target = self.job(next_record_result=21)
        finished = self.record(target, duration="500ms")
        self.assertEqual((self.totals["state"], self.totals["reason"]), ("refused", "CUPTI_BLOCKED"), self.totals)
        self.assertIn("(cuptiActivityGetNextRecord): error 21", self.totals["message"])
        self.assertIn("samples in", finished.errors)

    def test_another_tool_is_seen_before_anything_is_brought_in(self):
        target = self.job(env={"CUDA_INJECTION64_PATH": "/opt/tool.so"})
        finished = self.record(target, duration="300ms")
        self.assertEqual((self.totals["state"], self.totals["reason"]), ("refused", "CONFLICT_SUBSCRIBER"), self.totals)
        self.assertIn("CUDA_INJECTION64_PATH", finished.errors)
        self.assertNotIn("ptrace-prof", pathlib.Path(f"/proc/{target.pid}/maps").read_text())
        self.record(target, "--force", duration="500ms")
        self.assertEqual(self.totals["state"], "recording", self.totals)
        self.truth(target)

    def test_another_tool_takes_the_buffers(self):
        target = self.job()
        finished = self.until_it_ended(target, ("profile", "profiling"))
        self.assertUnharmed(target.pid)
        self.assertEnded(finished, "CONFLICT_SUBSCRIBER", "took over CUPTI")
        self.assertTrue(any("has not returned" in notice for notice in self.notices), self.notices)
        target.tell("profiled")
        self.assertGreater(int(target.expect("profiled").text.split()[1]), 0)
        self.assertKernelsAreTrue(self.truth(target))

    def test_buffers_that_are_taken_from_an_old_cupti(self):
        """Where all threads share a buffer, a takeover looks like a long kernel. The end of the trace reports what is
        missing."""
        for version in ("18", "22"):
            with self.subTest(version=version):
                target = self.job(version=version)
                recording = self.start_recording(target)
                recording.shows(KERNEL)
                target.tell("profile")
                target.expect("profiling")
                self.stop(recording)
                self.assertUnharmed(target.pid)
                self.assertTrue(any("has not returned" in notice for notice in self.notices), self.notices)
                self.assertKernelsAreTrue(self.truth(target))

    def test_slow_to_come_up(self):
        """Python is recorded meanwhile. A capture that ends earlier reports that the GPU was not ready."""
        target = self.job(slow_attach_ms=1500)
        self.record(target, "--mode", "sample", duration="500ms")
        self.assertEqual((self.totals["state"], self.totals["reason"]), ("refused", "ATTACH_TIMEOUT"), self.totals)
        self.assertIn("(cupti", self.totals["message"])
        self.truth(target)
        target = self.job(slow_attach_ms=1500)
        recording = self.start_recording(target)
        recording.shows(KERNEL)
        finished = self.stop(recording)
        self.assertEqual(self.totals["state"], "recording", self.totals)
        self.assertGreater(self.totals["uncovered_ns"], 1_000_000_000, "until it was up")
        self.assertRegex(finished.errors, r"not recorded for \d\.\d+ s")
        self.assertKernelsAreTrue(self.truth(target))

    def test_sixty_four_threads(self):
        target = self.job("--threads", "64", "--rate", "150")
        self.record(target, duration="2s")
        self.assertUnharmed(target.pid)
        truth = self.truth(target)
        self.assertTrue_to(truth)
        self.assertAddsUp()
        self.assertGreater(len({one["tid"] for one in self.operations if one["kind"] == "kernel"}), 60)

    def test_a_name_that_changes(self):
        """Its module was unloaded, and another one is at the same address."""
        target = self.job()
        recording = self.start_recording(target)
        recording.shows(KERNEL)
        target.tell("pause")
        target.expect("paused")
        target.tell("reload")
        target.expect("reloaded")
        target.tell("resume")
        resumed = int(target.expect("resumed").text.split()[1])
        recording.shows("another_module")
        self.stop(recording)
        names = {one["name"] for one in self.operations if one["kind"] == "kernel" and one["launched"] > resumed}
        self.assertFalse([name for name in names if KERNEL in name], names)
        self.assertTrue([name for name in names if "another_module" in name], names)
        self.assertTrue([one for one in self.operations if KERNEL in one["name"]])
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_the_job_is_killed(self):
        """What it did until then is in the trace, including buffers that were never given back."""
        target = self.job()
        recording = self.start_recording(target)
        recording.shows(KERNEL)
        target.signal(signal.SIGKILL)
        killed = time.monotonic_ns()
        target.wait()
        finished = recording.wait()
        self.read(recording.trace)
        self.assertIn("GPU of process", finished.errors)
        self.assertGreater(self.totals["kernels"], 50)
        self.assertLess(killed - max(one["start"] for one in self.operations), 250_000_000)
        self.assertEqual(self.totals["skipped"], 0)

    def test_the_collector_is_killed_and_another_one_takes_over(self):
        target = self.job()
        recording = self.start_recording(target)
        recording.shows(KERNEL)
        os.kill(self.collector_of(recording), signal.SIGKILL)
        self.assertNotEqual(recording.wait().status, 0)
        finished = self.record(target)  # at once: the earlier shim still has CUPTI
        self.assertEqual(self.totals["state"], "recording", self.totals)
        self.assertIn("GPU of process", finished.errors)
        self.assertUnharmed(target.pid)
        self.assertAddsUp()
        self.assertTrue_to(self.truth(target))

    def test_the_collector_falls_behind(self):
        """Full buffers are not taken any more, so soon all are full (one for each thread at every flush). What has no
        room then is counted. Once the collector goes on, so does the recording."""
        target = self.job("--threads", "16", "--rate", "500")
        recording = self.start_recording(target)
        recording.shows(KERNEL)
        collector = self.collector_of(recording)
        os.kill(collector, signal.SIGSTOP)
        time.sleep(3)  # the shim leaves when it hears nothing for five seconds
        os.kill(collector, signal.SIGCONT)
        for word, answer in (("capture", "capturing"), ("captured", "captured")):
            target.tell(word)
            target.expect(answer)
        self.assertTrue(within_deadline(lambda: self.shows_replay(target, recording)))
        finished = self.stop(recording)
        self.assertUnharmed(target.pid)
        self.assertEqual(self.totals["state"], "recording", self.totals)
        self.assertGreater(self.totals["declined"], 0, self.totals)
        self.assertIn(f", {self.totals['declined']:,} times without a free buffer", finished.errors)
        self.assertAddsUp()
        self.assertKernelsAreTrue(self.truth(target))

    def shows_replay(self, target, recording):
        """Replays the graph that the job has captured; returns whether a replay was recorded."""
        target.tell("replay")
        target.expect("replayed")
        return REPLAYED.encode() in recording.spool.read_bytes()

    def test_the_daemon_is_killed(self):
        """Its collector ends, the shim leaves, and the next capture is like the first."""
        host = self.serve()
        target = self.job()
        recording = self.start_recording(target, *host)
        recording.shows(KERNEL)
        collectors = self.daemon.collectors()
        self.assertEqual(len(collectors), 1)
        self.daemon.end(signal.SIGKILL)
        self.assertNotEqual(recording.wait().status, 0)
        self.assertTrue(within_deadline(lambda: gone(collectors[0])))
        self.record(target)
        self.assertEqual(self.totals["state"], "recording", self.totals)
        self.assertUnharmed(target.pid)
        self.assertAddsUp()
        self.assertTrue_to(self.truth(target))


class GpuGraphs(gpu_case.GpuCase):
    def capture(self, target):
        target.tell("capture")
        target.expect("capturing")
        target.tell("captured")
        self.assertEqual(target.expect("captured").text, "captured whole")

    def test_what_is_captured_is_no_launch_that_never_ran(self):
        for options in ({}, {"nested_driver": 1}):
            with self.subTest(options):
                target = self.job(**options)
                recording = self.start_recording(target)
                recording.shows(KERNEL)
                self.capture(target)
                recording.shows(REPLAYED)
                finished = self.stop(recording)
                self.assertUnharmed(target.pid)
                self.assertEqual((self.totals["captured"], self.totals["unseen"], self.totals["replays_unseen"]),
                                 (CAPTURED, 0, 0), self.totals)
                self.assertIn(f"{CAPTURED} captured into graphs", finished.errors)
                self.assertEqual(sum(one["name"] == REPLAYED for one in self.operations), CAPTURED)
                self.assertAddsUp()
                self.truth(target)

    def test_a_capture_that_goes_on_at_the_end(self):
        target = self.job()
        recording = self.start_recording(target)
        recording.shows(KERNEL)
        target.tell("capture")
        target.expect("capturing")
        self.stop(recording)
        self.assertEqual((self.totals["captured"], self.totals["unseen"]), (CAPTURED, 0), self.totals)
        self.assertAddsUp()
        target.tell("captured")
        self.assertEqual(target.expect("captured").text, "captured whole")
        self.assertUnharmed(target.pid)
        self.truth(target)

    def test_a_capture_that_had_begun_before(self):
        target = self.job()
        target.tell("capture")
        target.expect("capturing")
        recording = self.start_recording(target)
        recording.shows(KERNEL)
        target.tell("captured")
        self.assertEqual(target.expect("captured").text, "captured whole")
        recording.shows(REPLAYED)
        self.stop(recording)
        self.assertEqual(self.totals["unseen"], 0, self.totals)
        self.assertAddsUp()
        self.truth(target)

    def test_a_capture_that_had_begun_before_goes_on_at_the_end(self):
        """Only launches that do not run reveal the capture, as no call shows it. The shim must not put it at risk."""
        target = self.job()
        target.tell("capture")
        target.expect("capturing")
        recording = self.start_recording(target)
        recording.shows(KERNEL)
        target.tell("more")
        target.expect("more")
        time.sleep(1.5)  # longer than a kernel's record may take to come
        finished = self.stop(recording)
        self.assertIn("launched kernels did not run", finished.errors)
        target.tell("captured")
        self.assertEqual(target.expect("captured").text, "captured whole")
        self.assertUnharmed(target.pid)
        self.truth(target)

    def capturing_alone(self):
        """(a job that does nothing but capture a graph, since before it is recorded; its recording)"""
        target = self.job()
        for word, answer in (("pause", "paused"), ("capture", "capturing")):
            target.tell(word)
            target.expect(answer)
        recording = self.start_recording(target)
        self.await_all_on(recording, target, "more", "more")
        return target, recording

    def assertCapturedWhole(self, target):
        target.tell("captured")
        self.assertEqual(target.expect("captured").text, "captured whole")
        self.assertUnharmed(target.pid)
        target.tell("resume")
        target.expect("resumed")
        self.truth(target)

    def test_a_capture_that_had_begun_before_in_a_job_that_does_nothing_else(self):
        target, recording = self.capturing_alone()
        for _ in range(10):  # longer than a kernel's record may take to come
            target.tell("more")
            target.expect("more")
            time.sleep(0.1)
        finished = self.stop(recording)
        self.assertIn("launched kernels did not run", finished.errors)
        self.assertCapturedWhole(target)

    def test_a_capture_that_had_begun_before_whose_collector_is_killed(self):
        target, recording = self.capturing_alone()
        os.kill(self.collector_of(recording), signal.SIGKILL)
        self.assertNotEqual(recording.wait().status, 0)
        self.assertTrue(within_deadline(lambda: "ptrace-prof-arena" not in pathlib.Path(f"/proc/{target.pid}/maps").read_text()))
        self.assertCapturedWhole(target)

    def test_graphs_of_a_second_session(self):
        """An older CUPTI reports wrongly which call replayed them, so the trace leaves the call out. 13.1 update 1
        corrects that."""
        for version, options in (("130001", {"wrong_graphs": 3}), ("28", {"wrong_graphs": 3}), ("130400", {})):
            with self.subTest(version):
                target = self.job(version=version, **options)
                for is_second in (False, True):
                    finished = self.record(target, "--mode", "trace")
                    of_graphs = [one for one in self.operations if one["graph"]]
                    self.assertGreater(len(of_graphs), 20)
                    is_unlinked = is_second and bool(options)
                    self.assertEqual(self.totals["unlinked"], is_unlinked and len(of_graphs))
                    self.assertEqual({one["source"] for one in of_graphs}, {"none" if is_unlinked else "exact"})
                    self.assertEqual({(one["tid"], one["correlation"]) == (0, 0) for one in of_graphs}, {is_unlinked})
                    self.assertEqual((self.totals["unseen"], self.totals["without_launch"], self.totals["replays_unseen"]),
                                     (0, 0, 0), self.totals)
                    self.assertAddsUp()
                    told = [notice for notice in self.notices if "reports wrong launches of graphs" in notice]
                    self.assertEqual(len(told), is_unlinked, self.notices)
                    self.assertEqual("whose launch is unknown" in finished.errors, is_unlinked)
                self.assertUnharmed(target.pid)
                self.assertOthersAreTrue(self.truth(target))

    def assertOthersAreTrue(self, truth):
        """Operations outside graphs are under the function that launched them."""
        functions = {one["correlation"]: one["python"] for one in truth["operations"] if not one["graph"]}
        for one in self.operations:
            if one["kind"] in ("kernel", "memcpy", "memset") and not one["graph"]:
                self.assertIn(functions[one["correlation"]], [name.split(".")[-1] for name in one["stack"]][-3:])

    def test_graphs_of_before_are_named(self):
        target = self.job("--threads", "2")
        recording = self.start_recording(target)
        recording.shows(KERNEL)
        self.capture(target)
        recording.shows(REPLAYED)
        finished = self.stop(recording)
        old = sorted({one["graph"] for one in self.operations if one["graph"] and one["name"] != REPLAYED})
        self.assertEqual((len(old), self.totals["graphs_before"]), (2, 2))
        notice, = [notice for notice in self.notices if "before the recording" in notice]
        self.assertIn(f"(graph {', '.join(map(str, old))})", notice)
        self.assertIn(notice, finished.errors)
        self.truth(target)


if __name__ == "__main__":
    case.main()

#!/usr/bin/env python3
"""The GPU shim in jobs on the doubles of CUDA (tests/doubles/cuda): it records, refuses with a reason, and leaves
nothing.

Runs gpu_driver (tests/programs), which brings the shim in, takes its buffers, and has it leave.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, real_cuda  # noqa: E402
from support.gpu_case import TROUBLE  # noqa: E402
from support.target_process import DEADLINE  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = os.environ.get("PP_GPU_DRIVER", str(ROOT / "build/bin/tests/gpu_driver"))
INJECT_DRIVER = os.environ.get("PP_INJECT_DRIVER", str(ROOT / "build/bin/tests/inject_driver"))
DOUBLES = os.environ.get("PP_CUDA_DOUBLES", str(ROOT / "build/bin/tests/cuda"))
ROUNDS = int(os.environ.get("PTRACE_PROF_INJECTIONS", "20"))
KERNEL, RUNTIME, DEVICE, CONTEXT, STREAM = "10", "5", "8", "9", "37"
UNTOUCHED, FINALIZED, DORMANT_VERSION, DORMANT_NO_CALL, DORMANT_CAPTURE = range(5)
KEPT = []  # the option that keeps CUPTI
if real_cuda.IS_REAL:  # taking CUPTI down ends jobs there (docs/gpu.md)
    KEPT, FINALIZED = ["--keep"], 6
TAKEN_DOWN, DORMANT_BROKEN, TAKEN_OVER = 7, 8, 9
FATAL, BROKEN, TAKEN, CLOCK = 3, 5, 6, 7  # why it left
CONTROL_THREAD = "ptrace-prof-gpu"


def drive(pid, *options):
    """(exit status, output)"""
    done = subprocess.run([DRIVER, *KEPT, *map(str, options), str(pid)], capture_output=True, text=True, timeout=DEADLINE,
                          stdin=subprocess.DEVNULL)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def thread_names(pid):
    names = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended meanwhile
            names.append(pathlib.Path(f"/proc/{pid}/task/{tid}/comm").read_text().strip())
    return sorted(names)


def open_files(pid):
    found = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return sorted(found)


def maps_arena(pid):
    return "ptrace-prof-arena" in pathlib.Path(f"/proc/{pid}/maps").read_text()


class GpuShimCase(case.Case):
    def setUp(self):
        if self.interpreter.in_root:
            self.skipTest("the doubles are not in its root")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.truth_file = pathlib.Path(folder.name) / "truth.json"

    def job(self, script="cuda_job.py", version=real_cuda.USUAL, **options):
        real_cuda.leave_out_what_doubles_do(self, version, options)
        environment = {"PP_CUDA_DOUBLES": DOUBLES, "PP_CUDA_VERSION": version,
                       "PP_CUDA_DOUBLE": ",".join(f"{key}={value}" for key, value in options.items())}
        arguments = ["--version", version, "--truth", self.truth_file] if script == "cuda_job.py" else []
        return self.start(script, *arguments, env=environment)

    def assertGone(self, pid):
        """The shim reports that it has left, then its thread ends."""
        deadline = time.monotonic() + DEADLINE
        while CONTROL_THREAD in thread_names(pid) or any("ptrace-prof" in name for name in open_files(pid)) or maps_arena(pid):
            self.assertLess(time.monotonic(), deadline, (thread_names(pid), open_files(pid)))
            time.sleep(0.001)

    def assertEndsWell(self, target):
        self.assertUnharmed(target.pid)
        self.assertGone(target.pid)
        target.tell("ping")
        target.expect("pong")
        self.assertEqual((target.finish(), target.stderr()), (0, ""))
        self.assertRegex(target.stdout(), r"\A(\d+ steps\n)?\Z")
        if self.truth_file.exists():
            misuse = json.loads(self.truth_file.read_text())["misuse"]
            self.assertEqual({what: times for what, times in misuse.items() if times}, {}, "forbidden by CUPTI")

    def left(self, target, *options):
        status, said = drive(target.pid, *options)
        self.assertEqual(status, 0, said)
        return [one["left"] for one in said if "left" in one]

    def recording(self, target, *options):
        driver = subprocess.Popen([DRIVER, *KEPT, "--wait", *map(str, options), str(target.pid)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(driver.kill)
        self.assertIn("recording", driver.stdout.readline())
        return driver

    def refused(self, target, *options):
        status, said = drive(target.pid, *options)
        self.assertEqual(status, 1, said)
        self.assertNotEqual(said[-1]["error"]["remedy"], "", said)
        return said[-1]["error"]


class Records(GpuShimCase):
    def test_kernels_and_what_belongs_to_them(self):
        target = self.job()
        one, = self.left(target, "--kernels", 1000)
        self.assertGreaterEqual(one["kinds"][KERNEL], 1000)
        for kind in (RUNTIME, DEVICE, CONTEXT, STREAM):
            self.assertIn(kind, one["kinds"])
        self.assertEqual((one["broken"], one["declined"], one["dropped"]), (0, 0, 0))
        self.assertEqual(one["handed_out"], one["completed"])
        self.assertGreater(one["clocks"], 1)
        self.assertEndsWell(target)

    def test_again_and_again(self):
        target = self.job()
        files, threads = open_files(target.pid), thread_names(target.pid)
        status, said = drive(target.pid, "--count", ROUNDS, "--kernels", 50)
        self.assertEqual(status, 0, said)
        recording = [one["recording"] for one in said if "recording" in one]
        self.assertEqual(len(recording), ROUNDS)
        self.assertFalse(recording[0]["resident"])
        if self.interpreter.numbers[:2] < (3, 14):
            self.assertTrue(all(one["resident"] for one in recording[1:]))
        self.assertEqual({one["left"]["how"] for one in said if "left" in one}, {FINALIZED})
        self.assertGone(target.pid)
        self.assertEqual(open_files(target.pid), files)
        self.assertEqual(thread_names(target.pid), threads)
        self.assertEndsWell(target)

    def test_second_collector(self):
        target = self.job()
        with self.recording(target) as driver:
            error = self.refused(target)
            self.assertEqual(error["reason"], "BEING_TRACED")
            driver.communicate("", timeout=DEADLINE)
        self.assertEndsWell(target)

    def test_killed_collector(self):
        target = self.job()
        with self.recording(target, "--lease-ms", 300) as driver:
            driver.send_signal(signal.SIGKILL)
        self.assertGone(target.pid)
        self.assertEqual(len(self.left(target, "--kernels", 50)), 1)
        self.assertEndsWell(target)

    def test_killed_collector_whose_shim_is_sent_away(self):
        target = self.job()
        with self.recording(target, "--lease-ms", 60000) as driver:
            driver.send_signal(signal.SIGKILL)
        self.assertEqual(len(self.left(target, "--kernels", 50)), 1)
        self.assertEndsWell(target)

    def test_target_ends_while_recorded(self):
        target = self.job()
        with self.recording(target) as driver:
            self.assertEqual((target.finish(), target.stderr()), (0, ""))
            driver.communicate("", timeout=DEADLINE)

    def test_target_is_killed(self):
        target = self.job()
        with self.recording(target) as driver:
            target.signal(signal.SIGKILL)
            target.wait()
            driver.communicate("", timeout=2 * DEADLINE)

    def test_forks(self):
        """Children have neither the arena nor its file, except for a child that is forked while the arena is being
        made."""
        rounds = 3
        target = self.start("cuda_forks.py", env={"PP_CUDA_DOUBLES": DOUBLES}, options=["-W", "ignore"])
        self.assertEqual(len(self.left(target, "--count", rounds, "--kernels", 100)), rounds)
        self.assertGone(target.pid)
        target.tell("finish")
        self.assertLessEqual(int(target.expect("bad").text.split()[1]), rounds)
        self.assertEqual((target.wait(), target.stderr()), (0, ""))

    def test_beside_the_tracer(self):
        target = self.job()
        done = subprocess.run([INJECT_DRIVER, "--events", "50", str(target.pid)], capture_output=True, text=True,
                              timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(len(self.left(target, "--kernels", 100)), 1)
        done = subprocess.run([INJECT_DRIVER, "--events", "50", str(target.pid)], capture_output=True, text=True,
                              timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEndsWell(target)

    def test_null_backend(self):
        target = self.start("injectable.py", "busy")
        one, = self.left(target, "--null")
        self.assertEqual((one["how"], one["kinds"]), (UNTOUCHED, {}))
        self.assertGone(target.pid)
        self.assertEqual(target.finish(), 0, target.stderr())
        self.assertEqual(target.stdout(), "ended well\n")


class Buffers(GpuShimCase):
    """Here and in the classes below, tests depend on CUPTI and not on CPython's version, so they run once."""

    def test_versions(self):
        for version, how in (("18", DORMANT_VERSION), ("24", FINALIZED), ("130400", FINALIZED), ("130500", FINALIZED)):
            with self.subTest(version=version):
                target = self.job(version=version)
                for one in self.left(target, "--count", 2, "--kernels", 200):
                    self.assertEqual(one["how"], how)
                    self.assertGreaterEqual(one["kinds"][KERNEL], 200)
                self.assertEndsWell(target)

    def test_nobody_takes_the_buffers(self):
        """Buffers are not taken, so slots run out. Records are lost and counted (before 12.9 whole buffers); the job
        goes on."""
        for version, counter in (("22", "discarded"), ("130001", "declined")):
            with self.subTest(version=version):
                target = self.job(version=version)
                with self.recording(target, "--no-drain", "--slots", 1) as driver:
                    for _ in range(20):
                        target.tell("ping")
                        target.expect("pong")
                        time.sleep(0.05)  # time for launches, none of which is waited for
                    said = driver.communicate("", timeout=DEADLINE)[0]
                self.assertEqual(driver.returncode, 0, said)
                self.assertGreater(json.loads(said.splitlines()[-1])["left"][counter], 0)
                self.assertEndsWell(target)

    def test_slow_deliveries(self):
        """A query for dropped records waits for a buffer that is being delivered. We may hold no lock at either place.
        """
        target = self.job(delivery_ms=20)
        one, = self.left(target, "--kernels", 300)
        self.assertEqual((one["how"], one["broken"]), (FINALIZED, 0))
        self.assertEndsWell(target)


class Refusals(GpuShimCase):
    def test_no_cuda(self):
        target = self.start("injectable.py", "busy")
        self.assertEqual(self.refused(target)["reason"], "NO_CUDA")
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_another_tool(self):
        target = self.job(foreign=1)
        error = self.refused(target)
        self.assertEqual(error["reason"], "CONFLICT_SUBSCRIBER")
        self.assertIn('"', error["message"])
        self.assertEndsWell(target)

    def test_results_of_subscribing(self):
        for result, reason in ((14, "CONFLICT_SUBSCRIBER"), (15, "DRIVER_TOO_OLD"), (35, "NO_PRIVILEGE"), (39, "CONFLICT_SUBSCRIBER"),
                               (41, "CUPTI_BLOCKED"), (8, "CUPTI_BLOCKED")):
            with self.subTest(result=result):
                target = self.job(subscribe_result=result)
                self.assertEqual(self.refused(target)["reason"], reason)
                self.assertEndsWell(target)

    def test_slow(self):
        """The deadline is ours. The call that hangs in the target ends by itself, and then all is as before."""
        target = self.job(slow_attach_ms=2000)
        error = self.refused(target, "--timeout-ms", 1000)
        self.assertEqual(error["reason"], "ATTACH_TIMEOUT")
        self.assertIn("(cupti", error["message"])
        self.assertEqual(len(self.left(target, "--kernels", 50)), 1)
        self.assertEndsWell(target)

    def test_no_call_to_finalize_in(self):
        target = self.job(no_exit=1)
        one, = self.left(target, "--kernels", 50)
        self.assertEqual(one["how"], DORMANT_NO_CALL)
        self.assertEndsWell(target)


class Captures(GpuShimCase):
    def test_nothing_is_taken_down_while_a_stream_is_captured(self):
        for options in ({}, {"nested_driver": 1}):  # CUPTI may report driver calls inside the runtime's
            with self.subTest(options):
                target = self.job(**options)
                with self.recording(target) as driver:
                    target.tell("capture")
                    target.expect("capturing")
                    said = driver.communicate("", timeout=DEADLINE)[0]
                self.assertEqual(json.loads(said.splitlines()[-1])["left"]["how"], DORMANT_CAPTURE, said)
                self.assertEqual(self.left(target, "--kernels", 50)[0]["how"], DORMANT_CAPTURE, "the same capture")
                target.tell("captured")
                self.assertEqual(target.expect("captured").text, "captured whole")
                with self.recording(target) as driver:  # the shim did not see that capture end, but it sees this one
                    for word, answer in (("capture", "capturing"), ("captured", "captured")):
                        target.tell(word)
                        target.expect(answer)
                    said = driver.communicate("", timeout=DEADLINE)[0]
                self.assertEqual(json.loads(said.splitlines()[-1])["left"]["how"], DORMANT_CAPTURE, said)
                self.assertEndsWell(target)

    def test_a_capture_that_is_over_keeps_nothing_up(self):
        target = self.job(nested_driver=1)
        with self.recording(target) as driver:
            for _ in range(3):
                target.tell("capture")
                target.expect("capturing")
                target.tell("captured")
                self.assertEqual(target.expect("captured").text, "captured whole")
            said = driver.communicate("", timeout=DEADLINE)[0]
        self.assertEqual(json.loads(said.splitlines()[-1])["left"]["how"], FINALIZED, said)
        self.assertEndsWell(target)


class Troubles(GpuShimCase):
    """What CUPTI, or another tool, does to a running capture."""

    def ended(self, target, *doing):
        """(the shim's report when it left by itself, the error)"""
        with self.recording(target) as driver:
            for word, answer in doing:
                target.tell(word)
                target.expect(answer)
            driver.stdin.flush()
            lines = [json.loads(line) for line in driver.stdout]  # until the driver ends by itself
            self.assertEqual(driver.wait(timeout=DEADLINE), 1, lines)
        self.assertEqual([*lines[0], *lines[1]], ["left", "error"])
        self.assertNotEqual(lines[1]["error"]["remedy"], "", lines)
        return lines[0]["left"], lines[1]["error"]

    def assertGoesOn(self, target):
        """Buffers that CUPTI keeps stay mapped, as it may write to them."""
        target.tell("ping")
        target.expect("pong")
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stderr()), (0, ""))

    def test_buffers_cannot_be_collected_any_more(self):
        target = self.job(flush_result=999, flush_fails_after=0, on_word=1)
        left, error = self.ended(target, TROUBLE)
        self.assertEqual((left["cause"], left["how"], error["reason"]), (BROKEN, DORMANT_BROKEN, "CUPTI_BLOCKED"))
        self.assertIn("(cuptiActivityFlushAll): error 999", error["message"])
        self.assertGoesOn(target)

    def test_records_cannot_be_measured(self):
        target = self.job(next_record_result=21)
        error = self.refused(target)
        self.assertEqual(error["reason"], "CUPTI_BLOCKED")
        self.assertIn("(cuptiActivityGetNextRecord): error 21", error["message"])
        self.assertEndsWell(target)

    def test_cupti_gives_up(self):
        target = self.job(fatal_after=0, fatal_result=26, on_word=1)
        left, error = self.ended(target, TROUBLE)
        self.assertEqual((left["cause"], left["how"], error["reason"]), (FATAL, TAKEN_DOWN, "CUPTI_BLOCKED"))
        self.assertIn("error 26", error["message"])
        self.assertEqual(self.left(target, "--kernels", 50)[0]["how"], FINALIZED, "it can be begun again")
        self.assertGoesOn(target)

    def test_another_tool_takes_the_buffers(self):
        """The profiler of PyTorch takes them without subscribing, so nothing fails, and no buffers come any more.

        It is noticed where threads have buffers of their own, as from 13.0 on (before: gpu_faults_test.py)."""
        target = self.job(version="130001")
        left, error = self.ended(target, ("profile", "profiling"))
        self.assertEqual((left["cause"], left["how"], error["reason"]), (TAKEN, TAKEN_OVER, "CONFLICT_SUBSCRIBER"))
        self.assertUnharmed(target.pid)
        target.tell("profiled")
        self.assertGreater(int(target.expect("profiled").text.split()[1]), 0, "it has its kernels")
        self.assertEqual((target.finish(), target.stderr()), (0, ""))

    def test_a_job_that_rests_is_not_taken_for_one_that_was_taken_over(self):
        for version in ("18", "130001"):
            with self.subTest(version=version):
                target = self.job(version=version)
                with self.recording(target) as driver:
                    target.tell("pause")
                    target.expect("paused")
                    with self.assertRaises(subprocess.TimeoutExpired):
                        driver.wait(timeout=4)  # a takeover is noticed after two seconds
                    target.tell("resume")
                    target.expect("resumed")
                    said = driver.communicate("", timeout=DEADLINE)[0]
                self.assertEqual(driver.returncode, 0, said)
                self.assertEndsWell(target)

    def test_the_clock_of_cupti_is_set(self):
        target = self.job(clock_step_ns=3600 * 10**9, clock_step_after=0, on_word=1)
        left, error = self.ended(target, TROUBLE)
        self.assertEqual((left["cause"], left["how"], error["reason"]), (CLOCK, DORMANT_BROKEN, "CONFLICT_SUBSCRIBER"))
        self.assertIn("clock", error["message"])
        self.assertEndsWell(target)


if __name__ == "__main__":
    case.main()

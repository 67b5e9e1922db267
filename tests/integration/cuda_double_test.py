#!/usr/bin/env python3
"""The doubles of CUDA's libraries (tests/doubles/cuda) enforce the rules that they are strict about, and report the
truth.

Each scene of tests/targets/cuda_double_checks.py runs in a process of its own, with faults chosen by PP_CUDA_DOUBLE.
"""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOUBLES = pathlib.Path(os.environ.get("PP_CUDA_DOUBLES", ROOT / "build/bin/tests/cuda"))
VERSIONS = ("17", "18", "22", "24", "28", "130000", "130001", "130300", "130400", "130500")
MEMCPY, MEMSET, RUNTIME, DEVICE, CONTEXT, KERNEL, OVERHEAD, STREAM, SYNC, JIT = 1, 2, 5, 8, 9, 10, 17, 37, 38, 52
KERNELS_OF_STEP = 15
sys.path.insert(0, str(ROOT / "tests"))
from support import interpreters, runner  # noqa: E402
from support.target_process import TargetProcess  # noqa: E402

SCENES = ROOT / "tests/targets/cuda_double_checks.py"


def play(scene, version="130001", doubles=DOUBLES, fails=False, **options):
    """What a scene reported, or with `fails` the status that it ended with."""
    environment = {**os.environ, "PP_CUDA_DOUBLES": str(doubles), "PYTHONDONTWRITEBYTECODE": "1",
                   "PP_CUDA_DOUBLE": ",".join(f"{key}={value}" for key, value in options.items())}
    done = subprocess.run([sys.executable, str(SCENES), scene, version], capture_output=True, text=True, env=environment,
                          timeout=120)
    if fails:
        return done.returncode
    if done.returncode:
        raise AssertionError(f"{scene} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def of_kind(seen, kind):
    return [record for record in seen["records"] if record["kind"] == kind]


def traced(seen, kind):
    return [one for one in seen["operations"] if one["kind"] == kind and one["correlation"]]


class LateAttach(unittest.TestCase):
    def test_every_record_is_true(self):
        for version in VERSIONS[1:]:
            with self.subTest(version=version):
                seen = play("late_attach", version)
                self.assertEqual(set(seen["attached"] + seen["detached"]), {0})
                self.assertEqual(seen["dropped"], 0)
                for kind, name in ((KERNEL, "kernel"), (MEMCPY, "memcpy"), (MEMSET, "memset"), (SYNC, "sync")):
                    self.assertEqual(len(of_kind(seen, kind)), len(traced(seen, name)), name)
                self.assertEqual(len(of_kind(seen, RUNTIME)), sum(call["correlation"] != 0 for call in seen["calls"]))
                self.check_kernels(seen)

    def check_kernels(self, seen):
        offset = time.time_ns() - time.monotonic_ns()
        true = {(one["correlation"], one["node"]): one for one in traced(seen, "kernel")}
        calls = {record["correlation"]: record for record in of_kind(seen, RUNTIME)}
        for record in of_kind(seen, KERNEL):
            one = true.pop((record["correlation"], record["node"]))
            self.assertEqual((record["name"], record["stream"], record["graph"]), (one["name"], one["stream"], one["graph"]))
            self.assertEqual(calls[record["correlation"]]["thread"], one["tid"])
            self.assertLess(abs(record["start"] - offset - one["start"]), 1000000)  # the clocks may have been adjusted
            self.assertLess(abs(record["end"] - record["start"] - (one["end"] - one["start"])), 1000)
            self.assertGreaterEqual(record["start"], calls[record["correlation"]]["start"])
        self.assertEqual(true, {})

    def test_inventory(self):
        seen = play("late_attach")
        self.assertEqual([record["name"] for record in of_kind(seen, DEVICE)], ["Double of a GPU"])
        self.assertEqual([record["null_stream"] for record in of_kind(seen, CONTEXT)], [7])
        self.assertEqual(sorted(record["stream"] for record in of_kind(seen, STREAM)), [7, 13, 14, 15, 16])

    def test_graphs_as_a_whole(self):
        seen = play("every_kind", load_every=5, devices=2)
        replays = [one for one in traced(seen, "memset") if one["graph"]]  # one in each
        old, new = sorted({one["graph"] for one in replays})
        wholes = of_kind(seen, 51)
        self.assertEqual({one["graph"] for one in wholes}, {new})
        self.assertEqual(len(wholes), sum(one["graph"] == new for one in replays))
        self.assertEqual({one["graph"] for one in of_kind(seen, KERNEL)}, {0})
        true = {one["correlation"]: one for one in replays}
        offset = time.time_ns() - time.monotonic_ns()
        for one in wholes:
            self.assertLess(abs(one["end"] - offset - true[one["correlation"]]["end"]), 1000000)  # it is the last node
            self.assertEqual((one["device"], one["stream"]), (1, true[one["correlation"]]["stream"]))
        self.assertEqual(sum(one["graph"] == old for one in replays), 30)

    def test_devices(self):
        seen = play("every_kind", devices=2)
        self.assertEqual(len(of_kind(seen, DEVICE)), 2)
        self.assertEqual([(one["context"], one["device"]) for one in of_kind(seen, CONTEXT)], [(1, 0), (2, 1)])
        devices = {(one["correlation"], one["node"]): one["device"] for one in traced(seen, "kernel")}
        found = {(one["correlation"], one["node"]): one["device"] for one in of_kind(seen, KERNEL)}
        self.assertEqual(found, {key: devices[key] for key in found})
        self.assertEqual(set(found.values()), {0, 1})

    def test_code_that_is_loaded_late(self):
        seen = play("every_kind", load_every=5)
        loads = [record for record in of_kind(seen, OVERHEAD) if record["overhead"] == 5 << 16]
        self.assertGreater(len(loads), 10)
        self.assertEqual(len(of_kind(seen, JIT)), len(loads))
        self.assertEqual({(one["entry"], one["operation"]) for one in of_kind(seen, JIT)}, {(1, 3)})

    def test_annotations(self):
        """A range has two records with the same number, from any threads. Only the first has the name."""
        for version in ("18", "130001"):
            seen = play("annotations", version)
            marks = sorted(of_kind(seen, 12), key=lambda one: one["timestamp"])  # threads have buffers of their own
            text = {0: "", **{int(address): one for address, one in seen["texts"].items()}}
            told = [(one["flags"], one["name"] or "", text[one["domain"]]) for one in marks]
            across = ("across threads", "domain")
            self.assertEqual(told, [(2, "inner", ""), (2, *across), (2, "other", ""), (4, "", ""), (1, "mark", ""),
                                    (4, "", ""), (4, "", ""), (4, "", ""), (4, "", "")])
            begins = {one["number"]: one["thread"] for one in marks if one["flags"] == 2}
            self.assertEqual(len(begins), 3)
            ends = [one for one in marks if one["flags"] == 4]
            self.assertEqual([one["number"] in begins for one in ends], [True, True, False, True, False],
                             "what had begun before ends without a begin")
            self.assertEqual({(one["object"], one["process"]) for one in marks}, {(2, seen["process"])})
            self.assertNotEqual(ends[0]["thread"], begins[ends[0]["number"]])
            self.assertEqual(ends[1]["thread"], begins[ends[1]["number"]])

    def test_nothing_forbidden_was_done(self):
        self.assertEqual(set(play("late_attach")["misuse"].values()), {0})

    def test_who_asks_and_who_delivers(self):
        seen = play("late_attach")
        launchers = {call["tid"] for call in seen["calls"]}
        self.assertLessEqual(set(seen["requests_on"]), launchers)
        self.assertEqual(len(seen["completed_on"]), 1)
        self.assertNotIn(seen["completed_on"][0], launchers)

    def test_python_functions(self):
        seen = play("late_attach")
        by_function = collections.Counter(one["python"] for one in traced(seen, "kernel"))
        self.assertEqual(by_function, {"linear": 360, "attention": 180, "loss": 90, "update": 90, "replay_optimizer": 360,
                                       "_engine_run_backward": 270})


class Rules(unittest.TestCase):
    def test_records_begin_when_callbacks_are_registered(self):
        seen = play("before_register")
        self.assertEqual((seen["enabled"], seen["flushed"]), (0, 0))
        self.assertEqual((seen["before"], seen["after"]), (0, KERNELS_OF_STEP))

    def test_no_correlation_without_calls(self):
        self.assertEqual(play("before_register")["correlations"], [0])

    def test_only_enabled_calls_call_back(self):
        nothing, one, again, domain, left = play("callbacks")
        self.assertEqual((nothing, again, left), ([], [], []))
        self.assertEqual(one, [[2, 131]])
        self.assertEqual(domain, [[2, number] for number in (41, 51, 131, 211, 311, 505)])

    def test_one_subscriber(self):
        self.assertEqual(play("subscribers"),
                         {"wrong": 1, "first": 0, "second": 39, "owner": "CUPTI for the first", "left": 0, "again": 0})

    def test_buffers_belong_to_whoever_registered_last(self):
        self.assertEqual(play("stolen_buffers"), {"registered": 0, "first": KERNELS_OF_STEP, "then": KERNELS_OF_STEP,
                                                  "second": KERNELS_OF_STEP})

    def test_what_is_not_over_is_held_back(self):
        seen = play("incomplete")
        self.assertNotIn("endless", seen["before"])
        self.assertIn("short", seen["before"])  # made later, delivered earlier
        endless = [record for record in seen["all"] if record["name"] == "endless"]
        self.assertEqual([record["end"] for record in endless], [0])
        self.assertGreater(endless[0]["start"], 0)
        self.assertEqual(len(seen["all"]), 101)

    def test_thread_ids(self):
        seen = play("thread_ids")
        self.assertIn(seen["ident"], seen["threads"])
        self.assertIn(seen["tid"], seen["threads"])
        self.assertEqual(len(seen["threads"]), 4)  # two of Python, and two names for the thread without Python

    def test_lists_of_calls(self):
        everything = [41, 51, 131, 211, 311, 505]
        self.assertEqual(play("call_lists"), [[], everything, everything[:-1], []])

    def test_declined_buffers_are_counted(self):
        seen = play("declined")
        launched = sum(one["kind"] == "kernel" for one in seen["operations"])
        self.assertEqual((seen["dropped"], seen["again"]), (3, 0))
        self.assertEqual(len(of_kind(seen, KERNEL)) + 3, launched)

    def test_old_versions_do_not_survive_a_declined_buffer(self):
        self.assertEqual(play("declined", "24", fails=True), -signal.SIGSEGV)

    def test_old_versions_do_not_survive_a_finalize_after_graphs(self):
        self.assertEqual(play("finalize", "22", fails=True), -signal.SIGSEGV)

    def test_finalize_in_an_exit(self):
        seen = play("finalize")
        for turn in seen["rounds"]:
            self.assertEqual(set(turn["attached"] + turn["finalized"]), {0})
            self.assertGreater(turn["kernels"], 0)
            self.assertEqual(turn["after"], turn["kernels"])
        engine = 1  # its thread came with the first step
        self.assertEqual(seen["rounds"][0]["threads"], [1, 2 + engine, 1 + engine])
        self.assertEqual(seen["rounds"][1]["threads"], [1 + engine, 2 + engine, 1 + engine])
        self.assertEqual(set(seen["misuse"].values()), {0})

    def test_finalize_elsewhere(self):
        seen = play("finalize_badly")
        self.assertEqual(seen["captured"], "CUDA error 901")
        misuse = seen["misuse"]
        self.assertEqual((misuse["finalized_outside_exit"], misuse["finalized_in_capture"]), (1, 1))
        self.assertGreater(misuse["undelivered_at_finalize"], 0)

    def test_what_is_forbidden_is_counted(self):
        seen = play("forbidden")
        self.assertEqual(set(seen["results"]), {7})
        self.assertEqual(seen["misuse"]["flushes_in_callback"], len(seen["results"]))
        self.assertGreater(seen["misuse"]["dirty_buffers"], 0)

    def test_attributes(self):
        self.assertEqual(play("attributes"), {"seen": [[0, 250], [0, 64], [0, 64], [0, 1], [0, 0], [0, 0]], "small": 10})


class Faults(unittest.TestCase):
    def test_another_tool(self):
        seen = play("subscribers", foreign=1)
        self.assertEqual((seen["first"], seen["second"], seen["owner"]), (39, 39, "CUPTI for another profiler"))

    def test_refused(self):
        self.assertEqual(play("subscribers", subscribe_result=35)["first"], 35)

    def test_old_driver(self):
        for version, driver, result in (("130001", 12080, 15), ("130001", 13000, 0), ("24", 12000, 0), ("24", 11080, 15)):
            self.assertEqual(play("before_register", version, driver=driver)["enabled"], result)

    def test_many_threads(self):
        seen = play("many_threads")
        self.assertEqual(len(of_kind(seen, KERNEL)), len(traced(seen, "kernel")))
        self.assertEqual(len({record["thread"] for record in of_kind(seen, RUNTIME)}), 65)
        self.assertEqual(seen["dropped"], 0)

    def test_dropped_records_are_counted(self):
        seen = play("one_thread", drop_every=10)
        made = sum(len(traced(seen, kind)) for kind in ("kernel", "memcpy", "memset"))
        have = sum(len(of_kind(seen, kind)) for kind in (KERNEL, MEMCPY, MEMSET))
        self.assertEqual(seen["dropped"], made // 10)
        self.assertEqual(have + seen["dropped"], made)

    def test_times_that_are_lost(self):
        for scene, options in (("one_thread", {"zero_after": 100}), ("pool", {"pool_records": 50})):
            with self.subTest(options):
                seen = play(scene, **options)
                times = [record["start"] for kind in (KERNEL, MEMCPY, MEMSET) for record in of_kind(seen, kind)]
                self.assertEqual(sum(time != 0 for time in times), 100)
                self.assertGreater(len(times), 100)

    def clock_steps_of_kernels(self, after):
        """For each kernel, the number of steps in its time, if the clock steps after so many readings."""
        step = 3600 * 10**9
        seen = play("one_thread", clock_step_ns=step, clock_step_after=after)
        offset = time.time_ns() - time.monotonic_ns()
        true = {(one["correlation"], one["node"]): one["start"] + offset for one in traced(seen, "kernel")}
        return {round((one["start"] - true[one["correlation"], one["node"]]) / step) for one in of_kind(seen, KERNEL)}

    def test_clock_step(self):
        # On a busy machine calls are far ahead of the kernels, and read the clock too.
        found = [self.clock_steps_of_kernels(after) for after in (50, 100, 150, 200, 300)]
        self.assertEqual(set().union(*found), {0, 1})
        self.assertIn({0, 1}, found)

    def test_no_kernels_despite_launches(self):
        seen = play("one_thread", no_kernels=1)
        self.assertEqual(of_kind(seen, KERNEL), [])
        self.assertGreater(len(traced(seen, "kernel")), 0)
        self.assertGreater(len(of_kind(seen, RUNTIME)), 0)

    def test_correlation_wraps(self):
        seen = play("one_thread", correlation=0xfffffff0)
        ids = {record["correlation"] for record in of_kind(seen, RUNTIME)}
        self.assertTrue({0xfffffff1, 0xffffffff, 1, 2} <= ids)
        self.assertNotIn(0, ids)

    def test_no_exit(self):
        self.assertEqual(play("finalize", no_exit=1)["rounds"][0]["finalized"], [])

    def test_slow_attach(self):
        started = time.monotonic()
        self.assertEqual(play("subscribers", slow_attach_ms=300)["first"], 0)
        self.assertGreater(time.monotonic() - started, 0.3)

    def test_flushes_that_fail(self):
        seen = play("before_register", flush_result=999, flush_fails_after=1)
        self.assertEqual((seen["flushed"], seen["after"]), (0, 0))

    def test_records_that_cannot_be_walked(self):
        self.assertEqual(play("one_thread", next_record_result=21)["records"], [])

    def test_gives_up(self):
        seen = play("gives_up", fatal_after=100, fatal_result=26)
        self.assertEqual(seen["said"], [26])
        self.assertEqual(seen["again"], 0)
        self.assertGreater(seen["untraced"], 0)

    def test_driver_calls_in_those_of_the_runtime(self):
        seen = play("captured", nested_driver=1)
        nested = {(1, 539), (1, 497), (1, 307), (1, 514)}
        self.assertLessEqual(nested, set(map(tuple, seen["calls"])))
        self.assertEqual(seen["calls"].count([1, 539]), seen["calls"].count([2, 315]))
        self.assertEqual({tuple(call) for call in play("captured")["calls"]} & nested, set())

    def test_who_counts_what_was_dropped_waits_for_a_delivery(self):
        """A client that holds one lock both while it asks and while it takes a delivery would deadlock."""
        self.assertEqual(play("bait"), {"while": True, "after": False})

    def test_a_name_that_changed(self):
        self.assertEqual(play("reloaded"), ["the_new_one", "the_new_one"])


class Job(unittest.TestCase):
    """The workload itself, on every CPython that needs no root file system of its own."""

    def start(self, interpreter, *arguments):
        target = TargetProcess("cuda_job.py", interpreter, arguments, env={"PP_CUDA_DOUBLES": str(DOUBLES)})
        self.addCleanup(target.close)
        return target

    def test_on_every_version(self):
        for interpreter in interpreters.discover():
            if not interpreter.in_root:
                with self.subTest(str(interpreter)), tempfile.TemporaryDirectory() as folder:
                    target = self.start(interpreter, "--steps", 5, "--rate", 0, "--truth", f"{folder}/truth.json")
                    self.assertEqual(target.wait(), 0, target.stderr())
                    truth = json.loads(pathlib.Path(folder, "truth.json").read_text())
                    self.assertEqual(truth["steps"], 10)
                    self.assertEqual({one["correlation"] for one in truth["operations"]}, {0})
                    kernels = collections.Counter(one["python"] for one in truth["operations"] if one["kind"] == "kernel")
                    self.assertEqual(kernels["linear"], 40)
                    self.assertEqual(kernels["_engine_run_backward"], 30)

    def test_obeys(self):
        target = self.start(next(one for one in interpreters.discover() if not one.in_root), "--threads", 3)
        self.assertEqual(sorted(pathlib.Path(f"/proc/{target.pid}/task", tid, "comm").read_text().strip()
                                for tid in os.listdir(f"/proc/{target.pid}/task")).count("pt_autograd_0"), 1)
        target.tell("pause")
        target.expect("paused")
        counts = []
        for _ in range(2):
            target.tell("ping")
            counts.append(target.expect("pong").text)
        self.assertEqual(counts[0], counts[1])
        target.tell("capture")
        target.expect("capturing")
        target.tell("captured")
        self.assertEqual(target.expect("captured").text, "captured whole")
        target.tell("resume")
        target.expect("resumed")
        target.tell("profile")
        self.assertEqual(target.expect("profiling").text, "profiling 0")
        self.assertEqual(target.finish(), 0, target.stderr())


if __name__ == "__main__":
    runner.main()

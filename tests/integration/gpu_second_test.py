#!/usr/bin/env python3
"""`record --gpu --gpu-api v2`: CUPTI's second generation of calls, on the doubles that play it (tests/doubles/cuda): alone, beside
other tools, and where it cannot be had."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, gpu_case, profiler  # noqa: E402

NEW = {"version": "130400", "driver": 13040}
SECOND = ("--gpu-api", "v2")
UNTRIED = "by the second generation of CUPTI's calls, which has never been tried on a real library"
KERNEL = "softmax_warp"


class GpuSecond(gpu_case.GpuCase):
    def assertSecond(self):
        self.assertEqual([UNTRIED in notice for notice in self.notices].count(True), 1, self.notices)
        self.assertEqual((self.totals["unknown"], self.totals["state"]), (0, "recording"), self.totals)

    def share(self, target, word="share"):
        target.tell(word)
        return target.expect("sharing").text

    def shared(self, target):
        """Kernels that the other tool has, and what was dropped of it."""
        target.tell("shared")
        return tuple(int(number) for number in target.expect("shared").text.split()[1:])

    def assertGoesOnSharing(self, target):
        """More kernels come to the other tool; how long that takes is up to the job."""
        before, _ = self.shared(target)
        while self.shared(target)[0] <= before:
            pass
        self.assertEqual(self.shared(target)[1], 0)


class Alone(GpuSecond):
    def test_everything_that_the_first_records(self):
        for version, driver in (("130300", 13030), ("130400", 13040), ("130500", 13050)):
            with self.subTest(version=version):
                target = self.job(version=version, driver=driver)
                finished = self.record(target, *SECOND)
                self.assertSecond()
                self.assertTrue_to(self.truth(target))
                self.assertAddsUp()
                self.assertEqual({one["kind"] for one in self.operations}, {"kernel", "memcpy", "memset", "sync"})
                self.assertEqual([one["name"] for one in self.devices], ["Double of a GPU"])
                self.assertEqual(self.devices[0]["multiprocessors"], 132)
                self.assertIn("other tools may have its second generation of calls too", finished.errors)

    def test_again(self):
        target = self.job(**NEW)
        for _ in range(3):
            self.record(target, *SECOND, duration="500ms")
            self.assertSecond()
            self.assertGreater(self.totals["kernels"], 0)
        self.truth(target)

    def test_exact(self):
        target = self.job(**NEW)
        self.record(target, *SECOND, "--mode", "trace")
        self.assertSecond()
        self.assertTrue_to(self.truth(target))
        sources = {one["source"] for one in self.operations if one["kind"] == "kernel" and self.is_linked(one)}
        self.assertEqual(sources, {"exact", "backward"})

    def test_coarse(self):
        target = self.job(**NEW)
        self.record(target, *SECOND, "--gpu-detail", "coarse")
        self.assertSecond()
        self.assertEqual({one["kind"] for one in self.operations}, {"kernel"})
        self.assertIn(True, {one["graph"] != 0 for one in self.operations})
        self.assertAddsUp()
        self.truth(target)

    def test_correlations_are_of_64_bits(self):
        target = self.job(correlation=0xfffff800, correlation_high=7, **NEW)
        self.record(target, *SECOND, duration="2s")
        self.assertSecond()
        self.assertAddsUp()
        self.assertEqual(self.totals["unseen"], 0)
        upper = {one["correlation"] >> 32 for one in self.operations if one["correlation"]}
        self.assertIn(upper, ({7}, {7, 8}, {8}))  # how far it has come by then
        self.assertGreater(self.totals["attributed_launch"], 0, "callbacks tell the lower half")

    def test_what_the_library_drops_is_counted(self):
        """By the tool's own count: the one of the process answers nothing here."""
        target = self.job(drop_every=50, **NEW)
        self.record(target, *SECOND)
        truth = self.truth(target)
        self.assertGreater(self.totals["dropped"], 0)
        self.assertLessEqual(self.totals["dropped"], len(truth["operations"]) // 50 + 1)

    def test_a_clock_that_is_set_ends_it(self):
        target = self.job(clock_step_ns=3600 * 10**9, clock_step_after=0, on_word=1, **NEW)
        recording = self.start_recording(target, *SECOND)
        recording.shows(KERNEL)
        target.tell("trouble")
        target.expect("troubled")
        recording.shows("the GPU is not recorded any more")
        self.stop(recording)
        self.assertEqual(self.totals["state"], "ended")
        self.assertIn(self.totals["reason"], ("CONFLICT_SUBSCRIBER", "CUPTI_BLOCKED"))  # whoever sees it first
        self.truth(target)


class Layouts(GpuSecond):
    """What CUPTI says of where fields are is not believed blindly."""

    def test_none_at_all(self):
        target = self.job(layouts=0, **NEW)
        finished = self.record(target, *SECOND)
        self.assertRegex(finished.errors, "the GPU is not recorded: .* does not say where the fields of its records are")
        self.assertEqual(self.totals["reason"], "CUPTI_BLOCKED")
        self.assertUnharmed(target.pid)
        self.truth(target)

    def test_contradictions(self):
        """From then on nothing of such records is read, and they are counted."""
        target = self.job(layouts_move_after=0, on_word=1, **NEW)
        recording = self.start_recording(target, *SECOND)
        recording.shows(KERNEL)
        target.tell("trouble")
        target.expect("troubled")
        target.tell("pause")
        target.expect("paused")
        target.tell("resume")
        target.expect("resumed")
        for _ in range(50):
            target.tell("ping")
            target.expect("pong")
        self.stop(recording)
        self.assertGreater(self.totals["unknown"], 0, self.totals)
        self.truth(target)


class Company(GpuSecond):
    def test_a_tool_that_was_there(self):
        target = self.job(**NEW)
        self.assertEqual(self.share(target), "sharing 0 0 0")
        self.record(target, *SECOND)
        self.assertSecond()
        self.assertTrue(any('shared with "a tool that shares"' in notice for notice in self.notices), self.notices)
        self.assertGoesOnSharing(target)
        self.assertTrue_to(self.truth(target))

    def test_a_tool_that_comes(self):
        target = self.job(**NEW)
        recording = self.start_recording(target, *SECOND)
        recording.shows(KERNEL)
        self.assertEqual(self.share(target), "sharing 0 0 0")
        self.assertGoesOnSharing(target)
        self.stop(recording)
        self.assertSecond()
        self.assertGoesOnSharing(target)
        self.assertAddsUp()
        self.truth(target)

    def test_a_tool_that_leaves(self):
        target = self.job(**NEW)
        self.share(target)
        recording = self.start_recording(target, *SECOND)
        recording.shows(KERNEL)
        target.tell("release")
        target.expect("released")
        target.tell("capture")
        target.expect("capturing")
        target.tell("captured")
        self.assertEqual(target.expect("captured").text, "captured whole")
        recording.shows("cudaGraphInstantiate")
        self.stop(recording)
        self.assertSecond()
        self.truth(target)

    def test_graphs_as_another_tool_has_them(self):
        target = self.job(**NEW)
        self.assertEqual(self.share(target, "whole"), "sharing 0 0 0 0 0")
        recording = self.start_recording(target, *SECOND)
        recording.shows(KERNEL)
        for word, answer in (("capture", "capturing"), ("captured", "captured"), ("replay", "replayed")):
            target.tell(word)
            target.expect(answer)
        recording.shows("cudaGraphInstantiate")
        self.stop(recording)
        self.assertSecond()
        self.assertTrue(any("record CUDA graphs as a whole" in notice for notice in self.notices), self.notices)
        self.assertEqual({one["graph"] for one in self.operations if one["kind"] == "kernel"}, {0})
        self.assertIn("graph", {one["kind"] for one in self.operations})
        self.truth(target)

    def test_tools_of_the_first_generation_keep_it(self):
        for word, answer in (("profile", "profiling 0"), ("second", "second 0")):
            with self.subTest(word=word):
                target = self.job(**NEW)
                target.tell(word)
                self.assertEqual(target.expect(answer.split()[0]).text, answer)
                finished = self.record(target, *SECOND)
                self.assertIn("the GPU is not recorded: CUPTI is already used", finished.errors)
                self.assertEqual(self.totals["reason"], "CONFLICT_SUBSCRIBER")
                self.assertUnharmed(target.pid)
                self.truth(target)

    def test_tools_of_the_first_generation_are_refused_meanwhile(self):
        target = self.job(**NEW)
        recording = self.start_recording(target, *SECOND)
        recording.shows(KERNEL)
        target.tell("profile")
        self.assertEqual(target.expect("profiling").text, "profiling 39")
        self.stop(recording)
        self.assertSecond()
        self.assertAddsUp()
        self.truth(target)


class Older(GpuSecond):
    def test_the_first_generation_does_where_there_is_no_second(self):
        for version, driver, words in (("130400", 13020, "the CUPTI of CUDA 13.4 and a driver for CUDA 13.2"),
                                       ("130001", 13040, "the CUPTI of CUDA 13.0 update 1 and a driver for CUDA 13.4"),
                                       ("24", 12060, "the CUPTI of CUDA 12.6 and a driver for CUDA 12.6")):
            with self.subTest(version=version):
                target = self.job(version=version, driver=driver)
                finished = self.record(target, *SECOND)
                self.assertIn(f"{words}, so the first is used", finished.errors)
                self.assertEqual([notice for notice in self.notices if UNTRIED in notice], [])
                self.assertTrue_to(self.truth(target))
                self.assertAddsUp()

    def test_it_is_used_where_it_is_asked_for_only(self):
        target = self.job(**NEW)
        for options in ((), ("--gpu-api", "v1")):
            self.record(target, *options, duration="500ms")
            self.assertEqual([notice for notice in self.notices if "generation" in notice], [])
            self.assertGreater(self.totals["kernels"], 0)
        target.tell("profile")  # as CUPTI was taken down
        self.assertEqual(target.expect("profiling").text, "profiling 0")
        self.truth(target)

    def test_what_is_no_generation(self):
        finished = profiler.run("record", "--gpu", "--gpu-api", "v3", "--pid", "1")
        self.assertEqual(finished.status, 2, finished.errors)
        self.assertIn("--gpu-api v3 is not known", finished.errors)


if __name__ == "__main__":
    case.main()

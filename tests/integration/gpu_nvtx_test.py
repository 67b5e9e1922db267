#!/usr/bin/env python3
"""What a job reports by NVTX, in `record --gpu --gpu-detail full`, against what it really reported. On the doubles of
CUDA's libraries, where NVTX is bound as in a real job: by each library at its first call, for good."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, gpu_case, profiler  # noqa: E402

FULL = ("--gpu-detail", "full")
KERNEL = "softmax_warp"
THREADS = 2


def cupti(version):
    return next(pathlib.Path(gpu_case.DOUBLES, version, "site-packages/nvidia").glob("*/lib/libcupti.so.*"))


class GpuNvtx(gpu_case.GpuCase):
    def say(self, target, *words):
        for word, answer in words:
            target.tell(word)
            target.expect(answer)

    def capture(self, target, *options):
        """A recording that begins and ends while the job makes no call."""
        self.say(target, ("pause", "paused"))
        recording = self.start_recording(target, *options)
        self.await_all_on(recording, target, "ping", "pong")
        target.tell("resume")
        self.resumed = int(target.expect("resumed").text.split()[1])
        recording.shows(KERNEL)
        self.say(target, ("epoch", "epoch"), ("ping", "pong"))
        target.tell("pause")
        self.paused = int(target.expect("paused").text.split()[1])
        self.trace = recording.trace
        return self.stop(recording)

    def annotated(self, *arguments, version="130001", env=None, **double):
        return self.job("--nvtx", "--threads", THREADS, *arguments, version=version,
                        env={"NVTX_INJECTION64_PATH": str(cupti(version))} if env is None else env, **double)

    def assertSaid(self, truth):
        """All that began while it was recorded must be there once, with its true values; of what had begun before,
        something."""
        self.assertGreater(len(self.annotations), 10)
        first, last = self.resumed, self.paused  # the job's calls are between them, all kinds were on
        key = ("annotation", "domain", "tid")
        for what in ("range", "mark"):
            seen = sorted((one for one in self.annotations if (one["what"] == "mark") == (what == "mark")),
                          key=lambda one: [one[name] for name in key] + [one["start"]])
            true = sorted((one for one in truth if one["what"] == what and first <= one["begin"][1] and one["begin"][0] <= last),
                          key=lambda one: [one[name] for name in key] + [one["begin"][0]])
            self.assertEqual([[one[name] for name in key] for one in seen], [[one[name] for name in key] for one in true])
            for one, said in zip(seen, true):
                self.assertNear(one["start"], said["begin"])
                if one["what"] == "range":
                    self.assertNear(one["end"], said["end"])

    def assertNear(self, when, between):
        self.assertLessEqual(between[0] - gpu_case.WITHIN, when)
        self.assertLessEqual(when, between[1] + gpu_case.WITHIN)

    def test_what_the_job_said(self):
        for version in ("18", "130001", "130400"):
            with self.subTest(version=version):
                target = self.annotated(version=version)
                finished = self.capture(target, *FULL)
                self.assertUnharmed(target.pid)
                self.assertSaid(self.truth(target)["annotations"])
                going_on = sorted(one["annotation"] for one in self.annotations if one["what"] == "open")
                self.assertEqual(going_on, ["epoch"] + THREADS * ["fetch"])
                totals = self.totals
                self.assertEqual([totals[f"annotations{name}"] for name in ("", "_without_begin", "_without_end", "_lost")],
                                 [len(self.annotations), 1 + THREADS, 1 + THREADS, 0])
                self.assertEqual((totals["skipped"], totals["unknown"]), (0, 0))
                self.assertEqual([notice for notice in self.notices if "NVTX" in notice], [])

    def test_once_more(self):
        target = self.annotated()
        self.capture(target, *FULL)
        self.capture(target, *FULL)
        self.assertUnharmed(target.pid)
        self.assertSaid(self.truth(target)["annotations"])

    def test_kineto_and_the_page(self):
        target = self.annotated()
        self.capture(target, *FULL)
        trace = json.loads(profiler.must("export", self.trace, "--format", "chrome", "-o", "-").output)
        said = [event for event in trace["traceEvents"] if event.get("cat") == "user_annotation"]
        self.assertEqual(len(said), len(self.annotations))
        self.assertEqual({event["ph"] for event in said}, {"X"})
        forward = [event for event in said if event["name"] == "forward"]
        self.assertEqual({event["args"]["domain"] for event in forward}, {"model"})
        text = profiler.must("export", self.trace, "--format", "text", "-o", "-").output
        self.assertIn(f"{1 + THREADS} NVTX ranges began before the recording", text)

    def test_default_has_none(self):
        target = self.annotated()
        self.record(target)
        self.assertEqual((self.annotations, self.totals["annotations"]), ([], 0))
        self.assertEqual([notice for notice in self.notices if "NVTX" in notice], [])

    def test_bound_to_nothing(self):
        """A job that was started without the variable: its ranges cannot be had later, and the trace reports that."""
        target = self.annotated(env={})
        self.record(target, *FULL)
        self.assertEqual(self.annotations, [])
        told = [notice for notice in self.notices if "NVTX" in notice]
        self.assertEqual(len(told), 1)
        self.assertIn("started without NVTX_INJECTION64_PATH", told[0])
        self.assertGreater(self.totals["kernels"], 0)

    def test_bound_to_another_tool(self):
        target = self.annotated(env={"NVTX_INJECTION64_PATH": "/opt/other/tool.so"})
        self.record(target, *FULL)
        self.assertEqual([notice.rsplit(" ", 1)[1] for notice in self.notices if "NVTX" in notice], ["/opt/other/tool.so"])


if __name__ == "__main__":
    case.main()

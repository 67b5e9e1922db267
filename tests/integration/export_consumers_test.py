#!/usr/bin/env python3
"""Our exports in the programs that they are made for: speedscope, Perfetto, go tool pprof, XML and flamegraph readers.

export_consumers_test.py EXPORT_MAKER
"""
import collections
import gzip
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import export_files
from export_files import ExportFiles
from support import perfetto, trace_validator
from support.profiler import BINARY

TRACES = ("sample", "hostile", "long")
SAMPLES = {"sample": 219, "hostile": 30, "long": 60000}


class SpeedscopeTest(ExportFiles):
    """speedscope itself (tests/integration/third_party) opens four of our formats."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_browser()

    def open(self, name, *functions, rows=1):
        """{function: (total, self)} of the sandwich view of the first profile, as speedscope prints them.

        speedscope draws it in several steps. It is complete once these functions and so many rows are there.
        """
        page = self.browser.open(f"{self.base}/speedscope/index.html#profileURL=/{name}&view=sandwich")
        table = """[...document.querySelectorAll('tr')].map(row =>
            [...row.querySelectorAll('td')].map(cell => cell.innerText.trim())).filter(row => row.length == 3)"""
        page.wait_for(f"""(rows => rows.length >= {rows} && {json.dumps(functions)}.every(
            name => rows.some(row => row[2].startsWith(name))))({table})""")
        rows = page.evaluate(table)
        self.assertEqual([text for text in page.complaints if "Failed to load resource" not in text], [])
        self.assertNotEqual(page.evaluate("document.title"), "owned")
        return {row[2]: (row[0], row[1]) for row in rows}

    def test_speedscope_json(self):
        rows = self.open("sample.speedscope.json", "Linear.forward", "Trainer.step", "walk")
        self.assertEqual(rows["Linear.forward"], ("200.00ms (50%)", "200.00ms (50%)"))
        self.assertEqual(rows["Trainer.step"], ("320.00ms (80%)", "120.00ms (30%)"))
        self.assertEqual(rows["walk"][0], "20.00ms (5.0%)")  # recursion counts once

    def test_pprof(self):
        rows = self.open("sample.pb.gz", "Linear.forward")
        self.assertEqual(rows["Linear.forward"], ("200.00ms (46%)", "200.00ms (46%)"))

    def test_chrome(self):
        rows = {name.split(" ")[0]: row for name, row in self.open("sample.json", "Linear.forward").items()}  # it adds the arguments
        self.assertEqual(rows["Linear.forward"][0].split(" ")[0], "200.00ms")

    def test_collapsed(self):
        rows = self.open("sample.collapsed", "Linear.forward")
        self.assertEqual(rows["Linear.forward (torch/nn/modules/linear.py:114)"][0].split(" ")[0], "100")

    def test_exact_calls(self):
        rows = self.open("calls.speedscope.json", "fib", "Trainer.train", "[events lost]")
        self.assertEqual(rows["fib"], ("300.00ns (5.0%)", "280.00ns (4.7%)"))
        self.assertEqual(rows["Trainer.train"], ("1.00µs (17%)", "700.00ns (12%)"))
        self.assertEqual(rows["[events lost]"][0], "1.00µs (17%)")
        self.assertEqual(self.open("calls.pb.gz", "load")["load"][0].split(" ")[0], "5.00µs")
        name = "/srv/job/train.py(18): Trainer.train"
        chrome = {text.split(" {")[0]: row for text, row in self.open("calls.json", name).items()}
        self.assertEqual(chrome[name][0].split(" ")[0], "1.00µs")

    def test_hostile_and_long_traces(self):
        for trace in ("hostile", "long"):
            for extension in (".speedscope.json", ".pb.gz", ".collapsed"):
                with self.subTest(trace=trace, extension=extension):
                    self.assertGreaterEqual(len(self.open(trace + extension, rows=6)), 6)


class SvgTest(ExportFiles):
    """A browser opens the picture, and its script zooms and searches."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_browser()

    def test_it_zooms_and_searches(self):
        for trace in TRACES:
            page = self.browser.open(f"{self.base}/{trace}.svg")
            page.wait_for("document.querySelectorAll('.frame').length > 1")
            page.evaluate("window.prompt = () => 'e'")
            page.evaluate("document.getElementById('search').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
            share = page.evaluate("document.getElementById('matched').textContent")
            self.assertRegex(share, r"^Matched: \d+\.\d\d %$")
            self.assertGreater(page.evaluate("document.querySelectorAll('rect.match').length"), 0)
            widest = page.evaluate("""(() => {
                const frame = [...document.querySelectorAll('.frame')].find(one => one.dataset.d == '2');
                frame.dispatchEvent(new MouseEvent('click', {bubbles: true}));
                return Number(frame.querySelector('rect').getAttribute('width'));
            })()""")
            self.assertGreater(widest, 1179, "it fills the picture")
            self.assertEqual(page.evaluate("document.getElementById('reset').getAttribute('visibility')"), "visible")
            self.assertEqual([text for text in page.complaints if "favicon" not in text], [])
            self.assertNotEqual(page.evaluate("document.title"), "owned")


class FileTest(ExportFiles):
    """The formats by their documentation."""

    def peak_memory(self, trace, name):
        """The peak memory of an export, in MiB."""
        export = subprocess.Popen([BINARY, "export", trace, "-o", self.path("memory.out"), "--format", name],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(export.pid, 0)
        export.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(export.returncode, 0)
        return usage.ru_maxrss / 1024

    def test_memory_does_not_grow_with_the_trace(self):
        """A trace, and one with 500 copies of it one after the other."""
        once = pathlib.Path(self.path("calls.trace")).read_bytes() + pathlib.Path(self.path("sample.trace")).read_bytes()
        for name, trace in (("short.pftrace", once), ("huge.pftrace", once * 500)):
            pathlib.Path(self.path(name)).write_bytes(trace)
        for name in ("html", "svg", "speedscope", "collapsed", "pprof", "chrome", "perfetto", "text"):
            with self.subTest(name):
                short, huge = (self.peak_memory(self.path(trace), name) for trace in ("short.pftrace", "huge.pftrace"))
                self.assertLess(huge - short, 8, f"{short} MiB, {huge} MiB")

    def test_collapsed_lines(self):
        for trace in TRACES:
            lines = self.read(trace + ".collapsed").splitlines()
            for line in lines:
                self.assertRegex(line, r"^[^;\x00-\x1f]+(;[^;\x00-\x1f]+)* [1-9][0-9]*$")
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in lines), SAMPLES[trace])
            self.assertEqual(len(lines), len({line.rsplit(" ", 1)[0] for line in lines}))

    def test_speedscope_weights_match_samples(self):
        for trace in TRACES:
            profile = json.loads(self.read(trace + ".speedscope.json"))
            frames = len(profile["shared"]["frames"])
            for thread in profile["profiles"]:
                self.assertEqual(len(thread["samples"]), len(thread["weights"]))
                self.assertTrue(all(0 <= frame < frames for sample in thread["samples"] for frame in sample))
                self.assertTrue(all(weight > 0 for weight in thread["weights"]))
                self.assertAlmostEqual(sum(thread["weights"]), thread["endValue"] - thread["startValue"], places=6)

    def test_chrome_slices_nest(self):
        for trace in TRACES:
            data = json.loads(self.read(trace + ".json"))
            stacks, last = collections.defaultdict(list), {}
            for event in data["traceEvents"]:
                if event["ph"] not in "BE":
                    continue
                thread = event["pid"], event["tid"]
                self.assertGreaterEqual(event["ts"], last.get(thread, 0))
                last[thread] = event["ts"]
                if event["ph"] == "B":
                    stacks[thread].append(event["name"])
                else:
                    stacks[thread].pop()
            self.assertTrue(stacks and not any(stacks.values()))

    def test_svg_is_xml_and_widths_add_up(self):
        for trace in TRACES:
            root = xml.etree.ElementTree.fromstring(self.read(trace + ".svg"))
            self.assertEqual(int(root.get("data-all")), SAMPLES[trace])
            frames = [group for group in root.iter("{http://www.w3.org/2000/svg}g") if group.get("class") == "frame"]
            self.assertEqual(int(frames[0].get("data-w")), SAMPLES[trace])
            first_row = [int(group.get("data-w")) for group in frames if group.get("data-d") == "1"]
            self.assertEqual(sum(first_row), SAMPLES[trace])
            scripts = list(root.iter("{http://www.w3.org/2000/svg}script"))
            self.assertEqual(len(scripts), 1)
            self.assertNotIn("owned", scripts[0].text)

    def test_svg_of_exact_calls_is_in_nanoseconds(self):
        root = xml.etree.ElementTree.fromstring(self.read("calls.svg"))
        self.assertEqual(int(root.get("data-all")), 11_000)
        titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
        self.assertIn("load (/srv/job/train.py:8) (5 µs, 45.45 %)", titles)

    def test_chrome_calls_have_kinetos_shape(self):
        data = json.loads(self.read("calls.json"))
        calls = {event["args"]["Python id"]: event for event in data["traceEvents"] if "args" in event and
                 "Python id" in event["args"]}
        self.assertEqual(len(calls), 10)
        for event in calls.values():
            parent = event["args"]["Python parent id"]
            if parent is None:
                self.assertIn(event["name"].split(": ")[1], ("<module>", "load"))
                continue
            self.assertLessEqual(calls[parent]["ts"], event["ts"])
            self.assertLessEqual(event["ts"] + event["dur"], calls[parent]["ts"] + calls[parent]["dur"] + 1e-3)
            self.assertEqual(calls[parent]["tid"], event["tid"])
        names = collections.Counter(event["name"] for event in calls.values())
        self.assertEqual(names["/srv/job/train.py(40): fib"], 2)
        self.assertEqual(names["<built-in function len>"], 1)
        modules = [event for event in calls.values() if "Python module id" in event["args"]]
        self.assertEqual([event["name"] for event in modules], ["nn.Module: Linear_0 (layers.3)"])
        steps = [event for event in data["traceEvents"] if event.get("cat") == "user_annotation"]
        self.assertEqual([event["name"] for event in steps], ["ProfilerStep#0", "ProfilerStep#1"])
        self.assertEqual(data["baseTimeNanoseconds"] % (7_889_238 * 10**9), 0)

    def test_text_percentages(self):
        text = self.read("sample.txt")
        rows = {name: float(own) for own, name in
                re.findall(r"^ +([\d.]+) +[\d.]+ +[\d,]+  (.*)$", text.split("\n\n")[1], re.MULTILINE)}
        self.assertEqual(rows["Linear.forward (torch/nn/modules/linear.py:113)"], 45.66)
        self.assertAlmostEqual(sum(rows.values()), 100, delta=0.2)
        self.assertNotIn("\x1b", self.read("hostile.txt"))

    def test_pprof_is_gzip(self):
        with gzip.open(self.path("sample.pb.gz")) as stream:
            self.assertIn(b"Linear.forward", stream.read())


class KinetoGpuTest(ExportFiles):
    """GPU work in Chrome JSON, as PyTorch's tools and Meta's HolisticTraceAnalysis read it."""

    def setUp(self):
        self.data = json.loads(self.read("gpu.json"))
        self.rows = collections.defaultdict(list)
        for event in self.data["traceEvents"]:
            self.rows[event.get("cat") if event["ph"] == "X" else event["ph"]].append(event)

    def test_categories_and_arguments(self):
        self.assertEqual({cat: len(self.rows[cat]) for cat in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "cuda_runtime")},
                         {"kernel": 210, "gpu_memcpy": 3, "gpu_memset": 3, "cuda_sync": 3, "cuda_runtime": 219})
        kernel = self.rows["kernel"][0]
        self.assertEqual((kernel["pid"], kernel["tid"], kernel["name"], kernel["dur"]), (0, 7, "gemm_kernel<float>", 190.0))
        self.assertEqual({key: kernel["args"][key] for key in ("device", "context", "stream", "grid", "block")},
                         {"device": 0, "context": 1, "stream": 7, "grid": [108, 2, 1], "block": [256, 1, 1]})
        self.assertNotIn("External id", kernel["args"])
        copy = self.rows["gpu_memcpy"][0]
        self.assertEqual((copy["tid"], copy["args"]["bytes"]), (13, 4 << 20))
        self.assertAlmostEqual(copy["args"]["memory bandwidth (GB/s)"], (4 << 20) / 400_000)
        self.assertEqual(self.data["deviceProperties"][0]["numSms"], 132)
        self.assertEqual(self.data["schemaVersion"], 1)

    def test_every_operation_is_joined_with_its_launch(self):
        begins = {event["id"]: event for event in self.rows["s"]}
        ends = {event["id"]: event for event in self.rows["f"]}
        self.assertEqual(len(begins), 216)
        self.assertEqual(begins.keys(), ends.keys())
        for name, flow in begins.items():
            self.assertLessEqual(flow["ts"], ends[name]["ts"])
            self.assertEqual((flow["cat"], flow["tid"], ends[name]["pid"]), ("ac2g", 4000, 0))

    def test_passes_pytorchs_validator(self):
        if not trace_validator.found():
            self.skipTest("no PyTorch with torch.profiler._trace_validator here (Debian forky's python3-torch has it)")
        for name in ("gpu.json", "calls.json"):
            self.assertEqual(trace_validator.violations(self.path(name)), [])

    @unittest.skipIf(importlib.util.find_spec("hta") is None, "HolisticTraceAnalysis is not installed: it was not tried")
    def test_holistic_trace_analysis(self):
        from hta.trace_analysis import TraceAnalysis
        analyzer = TraceAnalysis(trace_files={0: self.path("gpu.json")}, trace_dir="")
        idle = analyzer.get_temporal_breakdown(visualize=False)
        self.assertGreater(float(idle["idle_time(us)"].iloc[0]), 0)
        types, kernels = analyzer.get_gpu_kernel_breakdown(visualize=False)
        self.assertIn("COMPUTATION", set(types["kernel_type"]))
        self.assertIn("gemm_kernel<float>", set(kernels["name"]))
        breakdown, _ = analyzer.get_idle_time_breakdown(ranks=[0], visualize=False, show_idle_interval_stats=True)
        self.assertIn("host_wait", set(breakdown["idle_category"]))
        self.assertGreater(len(analyzer.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]), 0)


@unittest.skipIf(shutil.which("go") is None, "go is missing: go tool pprof was not tried")
class GoPprofTest(ExportFiles):
    def top(self, name, *flags):
        environment = dict(os.environ, PPROF_TMPDIR=self.folder)
        return subprocess.run(["go", "tool", "pprof", *flags, "-top", self.path(name)], check=True, text=True,
                              capture_output=True, env=environment).stdout

    def test_time_and_samples(self):
        self.assertRegex(self.top("sample.pb.gz"), r"\n +200ms 45\.66% 45\.66% +200ms 45\.66%  Linear\.forward\n")
        self.assertRegex(self.top("sample.pb.gz", "-sample_index=samples"), r"\n +60 27\.40% \S+ +160 73\.06%  Trainer\.step")

    def test_labels_and_lines(self):
        self.assertIn("Showing nodes accounting for 24ms", self.top("sample.pb.gz", "-tagfocus=thread=loader"))
        self.assertIn("train.py:33", self.top("sample.pb.gz", "-lines"))

    def test_exact_calls(self):
        self.assertRegex(self.top("calls.pb.gz", "-sample_index=calls"), r"\n +2 28\.57% \S+ +3 42\.86%  fib\n")

    def test_other_traces(self):
        for name in ("hostile.pb.gz", "long.pb.gz"):
            self.assertIn("of", self.top(name))


@unittest.skipIf(perfetto.unavailable(), f"Perfetto was not tried: {perfetto.unavailable()}")
class PerfettoTest(ExportFiles):
    """Perfetto's trace processor reads our Chrome JSON: every slice, properly nested, no complaint."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.perfetto = cls.enterClassContext(perfetto.Perfetto(cls.folder))

    def test_chrome_json(self):
        processor = self.perfetto.load("sample.json")
        self.assertEqual(processor.query("select name, value from stats where value != 0 and severity != 'info'"), [])
        events = json.loads(self.read("sample.json"))["traceEvents"]
        begins = sum(event["ph"] == "B" for event in events)
        self.assertEqual(processor.query("select count(*), min(dur) >= 0 from slice"), [(begins, 1)])
        self.assertEqual(processor.query("select sum(dur) from slice where name = 'Linear.forward'"), [(200_000_000,)])
        self.assertEqual(processor.query("select thread.name from thread where tid = 4001"), [("loader (tid 4001)",)])

    def test_exact_calls(self):
        slices = """select slice.name, dur, depth, tid from slice join thread_track on track_id = thread_track.id
                    join thread using (utid) where tid < 4194304"""
        durations = {}
        for name in ("calls.json", "calls.pftrace"):
            processor = self.perfetto.load(name)
            self.assertEqual(processor.query("select name, value from stats where value != 0 and severity != 'info'"), [])
            self.assertEqual(processor.query("select count(*), min(dur) >= 0 from slice"), [(12, 1)])
            durations[name] = sorted(row[1:] for row in processor.query(slices) if not row[0].startswith("ProfilerStep"))
        self.assertEqual(len(durations["calls.json"]), 10)
        self.assertEqual(durations["calls.json"], durations["calls.pftrace"])

    def test_counters(self):
        processor = self.perfetto.load("gpu.pftrace")
        self.assertEqual(processor.query("select name, value from stats where value != 0 and severity != 'info'"), [])
        rows = processor.query("""select one.name, above.name, count(*), max(value) from counter
            join track one on track_id = one.id join track above on one.parent_id = above.id
            group by one.name order by one.name""")
        gpu = "GPU 0 (Model X <80GB>)"
        self.assertEqual(rows, [("memory used", gpu, 5, 50 << 30), ("power", gpu, 5, 320_000), ("utilisation", gpu, 5, 90)])

    def test_copied_trace(self):
        processor = self.perfetto.load("sample.pftrace")
        self.assertEqual(processor.query("select count(*) from cpu_profile_stack_sample"), [(219,)])


if __name__ == "__main__":
    export_files.main(export_files.CHROMIUM)

#!/usr/bin/env python3
"""Our traces in the real Perfetto: its trace processor counts what we wrote, its UI opens them.

perfetto_test.py PERFETTO_TRACE_MAKER
"""

import collections
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import runner  # noqa: E402
from support.perfetto import Perfetto, unavailable  # noqa: E402

TARGETS = pathlib.Path(__file__).resolve().parent.parent / "targets"
COMPLAINTS = "select name, severity, idx, value from stats where value != 0 and severity != 'info'"
PER_THREAD = """select tid, thread.name, count(*) from cpu_profile_stack_sample join thread using (utid)
                group by tid, thread.name order by tid"""
SLICES = "select name, count(*) from slice group by name order by name"
LEAVES = """select frame.name, count(*) from cpu_profile_stack_sample sample
            join stack_profile_callsite callsite on sample.callsite_id = callsite.id
            join stack_profile_frame frame on callsite.frame_id = frame.id group by frame.name order by frame.name"""
FILES = """select distinct frame.name, mapping.name from stack_profile_frame frame
           join stack_profile_mapping mapping on frame.mapping = mapping.id order by frame.name, mapping.name"""
STATE_TRACKS = """select thread.tid, count(*) from slice join thread_track on slice.track_id = thread_track.id
                  join thread using (utid) where thread_track.name = 'state' group by thread.tid order by thread.tid"""
OPEN_SLICES = "select count(*) from slice where dur < 0"
CALLS = """select tid, slice.name, slice.ts, dur, depth from slice join thread_track on slice.track_id = thread_track.id
           join thread using (utid) where thread_track.name is null or thread_track.name != 'state'"""
CATEGORIES = """select ifnull(category, ''), count(*) from slice group by category order by category"""
NOTES = """select key, count(*) from slice join args using (arg_set_id) where key like 'debug.%' group by key"""


class PerfettoTest(unittest.TestCase):
    maker = None

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="pp-perfetto-"))
        subprocess.run([cls.maker, cls.folder], check=True)
        cls.perfetto = cls.enterClassContext(Perfetto(cls.folder))

    def expected(self, name):
        with open(os.path.join(self.folder, name + ".json"), encoding="utf-8") as stream:
            return {key: [tuple(row) for row in rows] for key, rows in json.load(stream).items()}

    def check_whole(self, name):
        processor = self.perfetto.load(name + ".pftrace")
        expected = self.expected(name)
        self.assertEqual(processor.query(COMPLAINTS), [])
        self.assertEqual(processor.query("select count(*) from cpu_profile_stack_sample"),
                         [(sum(row[2] for row in expected["samples"]),)])
        self.assertEqual(processor.query(PER_THREAD), expected["samples"])
        self.assertEqual(processor.query(SLICES), expected["slices"])
        self.assertEqual(processor.query(LEAVES), expected["leaves"])
        self.assertEqual(processor.query(OPEN_SLICES), [(0,)])
        return processor

    def test_counts_names_and_states(self):
        processor = self.check_whole("plain")
        self.assertEqual([row[0] for row in processor.query(STATE_TRACKS)], [4000, 4001, 4002])
        self.assertEqual(processor.query(FILES)[0], ("Model.layer_0", "/<frozen importlib._bootstrap>"))
        self.assertIn(("Model.layer_1", "/srv/app/layer_1.py"), processor.query(FILES))
        self.assertEqual(processor.query("select pid, name from process where pid > 0"), [(4000, "python4000")])

    def test_a_recording_of_a_real_process(self):
        binary = os.environ["PTRACE_PROF_BIN"]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        target = subprocess.Popen([sys.executable, TARGETS / "states.py"], pass_fds=[theirs.fileno()],
                                  env={**os.environ, "PP_PACT_FD": str(theirs.fileno())})
        try:
            self.assertEqual(ours.recv(100), b"ready")
            trace = os.path.join(self.folder, "real.pftrace")
            subprocess.run([binary, "record", "--pid", str(target.pid), "-d", "1s", "--rate", "1khz",
                            "--max-overhead", "off", "--idle", "all", "-q", "-o", trace], check=True)
        finally:
            target.kill()
            target.wait()
            ours.close()
            theirs.close()
        collapsed = subprocess.run([binary, "export", trace, "--format", "collapsed", "-o", "-"], check=True, text=True,
                                   capture_output=True).stdout
        written = collections.Counter()
        for line in collapsed.splitlines():
            stack, _, count = line.rpartition(" ")
            written[int(re.match(r"[^;]*\(tid (\d+)\);", stack)[1])] += int(count)
        processor = self.perfetto.load("real.pftrace")
        self.assertEqual(processor.query(COMPLAINTS), [])
        self.assertEqual({tid: count for tid, _name, count in processor.query(PER_THREAD)}, written)
        self.assertEqual(len(written), 7)

    def test_new_incremental_states_and_reused_tids(self):
        self.check_whole("tiny")
        self.check_whole("resets")

    def test_concatenated_with_one_begun_earlier(self):
        processor = self.check_whole("concatenated")
        self.assertEqual(processor.query("select pid from process where pid > 0 order by pid"), [(4000,), (5000,)])

    def test_truncated(self):
        processor = self.perfetto.load("truncated.pftrace")
        self.assertEqual(processor.query(COMPLAINTS), [])
        found = {tid: count for tid, _name, count in processor.query(PER_THREAD)}
        whole = {tid: count for tid, _name, count in self.expected("truncated")["samples"]}
        self.assertEqual(found.keys(), whole.keys())
        for tid, count in found.items():
            self.assertGreater(count, whole[tid] // 2)
            self.assertLess(count, whole[tid])

    def test_times_are_those_of_the_monotonic_clock(self):
        processor = self.perfetto.load("plain.pftrace")
        first, last = processor.query("select min(ts), max(ts) from cpu_profile_stack_sample")[0]
        self.assertGreater(first, 7_000_000_000_000)
        self.assertLess(last, 7_002_000_000_000)
        clocks = dict(processor.query("select clock_name, clock_value - ts from clock_snapshot"))
        self.assertEqual(clocks["REALTIME"], 1_790_000_000_000_000_000)

    def check_calls(self, name):
        processor = self.perfetto.load(name + ".pftrace")
        self.assertEqual(processor.query(COMPLAINTS), [])
        with open(os.path.join(self.folder, name + ".slices.json"), encoding="utf-8") as stream:
            expected = sorted(tuple(row) for row in json.load(stream))
        found = sorted(processor.query(CALLS))
        self.assertEqual(len(found), len(expected))
        self.assertEqual(found, expected)
        return processor

    def test_exact_calls(self):
        processor = self.check_calls("calls")
        resumed = dict(processor.query(CATEGORIES))["resumed"]
        self.assertGreater(resumed, 1000)
        # An arrow leads to each stretch of a generator except its first.
        generators = 9
        self.assertEqual(processor.query("select count(*) from flow"), [(resumed - generators,)])
        notes = dict(processor.query(NOTES))
        self.assertEqual(notes.keys(), {"debug.events", "debug.suspended", "debug.unwound", "debug.finished"})
        self.assertGreater(notes["debug.suspended"], 1000)

    def test_calls_deeper_than_perfetto_draws(self):
        self.check_calls("deep_calls")

    def test_ui_opens_it(self):
        page = self.perfetto.open_in_ui("plain.pftrace")
        page.wait_for("document.title.startsWith('plain.pftrace')")
        page.wait_for("document.body.innerText.includes('python4000')")
        page.wait_for("document.body.innerText.includes('CPU Profile Sample Flamegraph')")
        text = page.evaluate("document.body.innerText")
        for alarm in ("Oops", "Could not load", "import error", "data loss"):
            self.assertNotIn(alarm, text)
        # Failed requests, without a network, are not our fault; exceptions are.
        crashes = [text for text in page.complaints if "Error:" in text]
        self.assertEqual(crashes, [], collections.Counter(page.complaints))
        if os.environ.get("PP_SCREENSHOTS"):
            page.screenshot(os.path.join(os.environ["PP_SCREENSHOTS"], "perfetto.png"))


if __name__ == "__main__":
    if unavailable():
        print(f"not tested: {unavailable()}")
        sys.exit(runner.SKIPPED)
    PerfettoTest.maker = os.path.abspath(sys.argv.pop(1))
    runner.main()

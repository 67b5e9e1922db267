"""`record --mode trace --filter … --exclude …` on real processes. What is left out is gone, everything else is complete
to the last call, and the next recording has all of it again."""
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402

ROW = re.compile(r"\s*([\d,]+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+(?:\s+[\d.]+\s+[\d.]+)?  (\S+)(?: \(|$)")
ALL = {"run": 1, "excluded": 100, "around": 50, "kept": 50, "within": 50, "unwinding": 50}


class TraceFilter(case.Case):
    def setUp(self):
        self.target = self.start("counted.py")

    def trace(self, *options, runs=1):
        """Counts of calls by bare name, the messages, and the text; the target runs its functions only while it is
        traced."""
        recording = profiler.Recording(self.target.pid, "--mode", "trace", "--duration", "1h", *options)
        self.addCleanup(recording.remove)
        recording.shows("MainThread")  # this name comes once the window has begun
        for _ in range(runs):
            self.target.tell("run")
            self.target.expect("ran")
        recording.interrupt()
        finished = recording.wait()
        self.assertEqual(finished.status, 0, str(finished))
        self.assertIn("lost 0, returns without a call 0", finished.errors)
        text = profiler.must("export", recording.trace, "--format", "text", "-o", "-").output
        counts = {row[2].split(".")[-1]: int(row[1].replace(",", "")) for row in map(ROW.match, text.splitlines()) if row}
        return {name: counts.get(name, 0) for name in ALL}, finished.errors, text

    def assertTraced(self, counts, runs=1, **otherwise):
        self.assertEqual(counts, {**{name: count * runs for name, count in ALL.items()}, **otherwise})

    def test_what_is_excluded_is_gone_and_comes_back(self):
        self.assertTraced(self.trace()[0])
        for _ in range(2):
            counts, said, text = self.trace("--exclude", "excluded", "--exclude", "unwinding", "--exclude", "nosuch*", runs=3)
            self.assertTraced(counts, runs=3, excluded=0, unwinding=0)
            self.assertRegex(said, r"--exclude 'excluded' left out 1 function \(\d+ calls?")
            self.assertIn("--exclude 'nosuch*' matched none of the called functions", said)
            self.assertIn("--exclude 'nosuch*' matched none of the called functions", text)
            self.assertTraced(self.trace()[0])  # it did not run in between
        self.assertUnharmed(self.target.pid)
        self.assertEqual(self.target.finish(), 0, self.target.stderr())

    def test_only_what_is_filtered_is_there(self):
        counts, said, _ = self.trace("--filter", "kept", "--filter", "counted.with*", "--exclude", "*ithi?", runs=2)
        self.assertEqual(counts, {**dict.fromkeys(ALL, 0), "kept": 100})
        self.assertRegex(said, r"--filter left out \d+ functions")
        counts, said, _ = self.trace("--filter", "*/counted.py", "--filter", "nosuch")
        self.assertTraced(counts)
        self.assertIn("--filter 'nosuch' matched none of the called functions", said)
        self.assertTraced(self.trace()[0])

    def test_nothing_matches(self):
        counts, said, _ = self.trace("--filter", "nosuch")
        self.assertEqual(counts, dict.fromkeys(ALL, 0))
        self.assertIn("the process made no call that was to be recorded", said)
        self.assertIn("--filter 'nosuch' matched none of the called functions", said)

    def test_calls_of_c_functions_go_with_their_caller(self):
        for options, expected in (((), 100), (("--exclude", "around"), 50), (("--filter", "kept"), 50), (("--exclude", "len"), 0)):
            _, _, text = self.trace("--c-calls", *options)
            counts = {row[2]: int(row[1].replace(",", "")) for row in map(ROW.match, text.splitlines()) if row}
            self.assertEqual(counts.get("len", 0), expected, text)

    def test_what_costs_too_much_is_switched_off_and_named(self):
        options = ("--mode", "trace", "--duration", "1h", "--max-overhead", "0.1%")
        if self.interpreter.numbers < (3, 12):
            refused = profiler.run("record", "--pid", self.target.pid, *options)
            self.assertNotEqual(refused.status, 0, str(refused))
            self.assertIn(f"runs CPython {self.interpreter.minor}, which cannot", refused.errors)
            self.assertIn("hint: leave --max-overhead out", refused.errors)
            return
        recording = profiler.Recording(self.target.pid, *options)
        self.addCleanup(recording.remove)
        recording.shows("MainThread")  # this name comes once the window has begun
        self.target.tell("noise")
        spool = recording.trace.with_name(recording.trace.name + ".pftrace.tmp")
        deadline = time.monotonic() + profiler.DEADLINE
        while "--max-overhead switched off" not in profiler.must("export", spool, "--format", "text", "-o", "-").output:
            self.assertLess(time.monotonic(), deadline)
        self.target.tell("enough")
        self.target.expect("ran")
        recording.interrupt()
        finished = recording.wait()
        self.assertEqual(finished.status, 0, str(finished))
        self.assertRegex(finished.errors, r"--max-overhead switched off excluded \(\S*counted.py:\d+\) after [\d,]+ calls")
        self.assertRegex(finished.errors, r"cost of tracing in the process: at least \d+ ns per event")
        self.assertIn("returns without a call 0", finished.errors)
        self.assertTraced(self.trace()[0])  # all of it is recorded again

    def test_bad_patterns_are_refused_by_name(self):
        for option, pattern, why in (("--filter", "[a", "'[a' is not a valid pattern: a [ has no ]"),
                                     ("--exclude", "", "its value is empty")):
            refused = profiler.run("record", "--mode", "trace", "--pid", self.target.pid, option, pattern)
            self.assertEqual(refused.status, 2, str(refused))
            self.assertIn(f"{option}: {why}", refused.errors)
        refused = profiler.run("record", "--pid", self.target.pid, "--exclude", "f")
        self.assertEqual(refused.status, 2, str(refused))
        self.assertIn("--exclude needs --mode trace", refused.errors)


if __name__ == "__main__":
    case.main()

"""`record --mode trace`: every call of real processes of each version, counted against what the target must have done."""
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402

ROW = re.compile(r"\s*([\d,]+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+  (\S+)(?: \(|$)")
PER_BURST = {"leaf": 7, "recursive": 6, "three_times": 1, "raises": 1}


class TraceMode(case.Case):
    def trace(self, target, *options, format="text", ending="\n"):
        """The output of a short trace, of which nothing is missing."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        output = pathlib.Path(folder.name, f"out.{format}")
        finished = profiler.must("record", "--mode", "trace", "--pid", target.pid, "--duration", "500ms", "--buffer", "256M",
                                 "--format", format, "-o", output, *options)
        self.assertIn("tracing every call", finished.errors)
        self.assertRegex(finished.errors, r"\n +lost 0, unmatched ends 0" + ending)
        return output.read_text()

    def counts(self, text):
        return {row[2].split(".")[-1]: int(row[1].replace(",", "")) for row in map(ROW.match, text.splitlines()) if row}

    def assertExact(self, counts):
        """Between the two ends of the window, which may cut one burst each on three threads, every call is there."""
        bursts = counts["burst"]
        self.assertGreater(bursts, 4, counts)
        for name, each in PER_BURST.items():
            self.assertLessEqual(abs(counts[name] - each * bursts), 3 * each, counts)

    def test_every_call_is_there_and_nothing_stays(self):
        target = self.start("traced.py")
        target.tell("look")
        before = target.expect("traces").text
        for options in ((), ("--c-calls",), ()):  # the first brings the stub in, the others find it there
            counts = self.counts(self.trace(target, *options))
            self.assertExact(counts)
            if options:
                self.assertIn("sleep", counts)
            self.assertUnharmed(target.pid)
            target.tell("look")
            self.assertEqual(target.expect("traces").text, before)
        brief = self.counts(self.trace(target, "--min-duration", "1h", ending=", too short and left out [\\d,]+ calls\n"))
        self.assertNotIn("leaf", brief)
        self.assertIn("work", brief)  # ran when the window began
        self.assertEqual(target.finish(), 0, target.stderr())
        self.assertEqual(target.stdout(), "ended well\n")
        self.assertEqual(target.stderr(), "")


if __name__ == "__main__":
    case.main()

"""Every shape of calls, traced by the whole product and compared call by call with what a recorder in Python saw
(tests/targets/frame_recorder.py), alone and while something else hooks into the job. Also windows in which the process
forks, becomes another program, or ends. docs/semantics.md has the results.
"""
import contextlib
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, interpreters, profiler  # noqa: E402
from support.call_trees import CallTrees  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/semantics.md"
IN_THREADS = ("in_a_thread", "goes_on_elsewhere")


def rows_of_page():
    for line in PAGE.read_text().splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def minors_of(heading):
    """The minors that "3.8–3.11" or "3.12 and later" stands for."""
    ends = re.findall(r"3\.\d+", heading)
    return interpreters.span(*ends)


def promised():
    """{test: {minor: what the page promises}}"""
    columns, found = [], {}
    for row in rows_of_page():
        if row[-1] == "checked by" and len(row) == 4:
            columns = [minors_of(heading) for heading in row[1:-1]]
        elif columns:
            found[row[-1].strip("`")] = {minor: said for minors, said in zip(columns, row[1:-1]) for minor in minors}
    return found


def shapes_of_page():
    return {name for row in rows_of_page() if len(row) == 3 for name in re.findall(r"`(\w+)`", row[-1])}


def difference(found, expected):
    """Where two lists differ, in words; "" if they are equal."""
    if found == expected:
        return ""
    at = next((i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), min(len(found), len(expected)))
    return (f"{len(found)} calls, {len(expected)} expected; at {at}:\n  found    {found[max(0, at - 3):at + 5]}\n"
            f"  expected {expected[max(0, at - 3):at + 5]}")


class TraceSemantics(case.Case):
    def begin(self, companion):
        """(target, {shape: rows})"""
        target = self.start("semantics.py", companion)
        expected = {}
        while (message := target.hear().text) != "all":
            _, name, rows = message.split(" ", 2)
            expected[name] = json.loads(rows)
        self.assertGreater(len(expected), 25)
        return target, expected

    @contextlib.contextmanager
    def recording(self, target, *options):
        run = profiler.Recording(target.pid, "--mode", "trace", "-d", "1h", *options)
        self.addCleanup(run.remove)
        run.shows("goes_round")  # the target calls it all the time: what comes from now on is in the window
        if run.process.poll() is not None:
            self.fail(str(run.wait()))
        yield run

    def traced(self, target, word):
        """The trees of one window in which the target does what the word stands for."""
        with self.recording(target) as run:
            target.tell(word)
            target.expect("ran")
            run.interrupt()
            return self.trees(run)

    def trees(self, run):
        finished = self.finished = run.wait()
        self.assertEqual(finished.status, 0, str(finished))
        self.assertRegex(finished.errors, r"\n +lost 0, returns without a call 0(, without a name [\d,]+)?\n")  # see assertShapes
        return CallTrees(run.trace)

    def assertShapes(self, trees, expected, times=1):
        if times == 1:  # with two runs, the process ended too early for some names
            self.assertEqual(trees.markers, [])
        for name, rows in expected.items():
            calls = trees.named[name]
            self.assertEqual(len(calls), times, f"{name}: so often in the window, of {sorted(trees.named)}; {trees.markers[:9]}")
            for call in calls:
                self.assertEqual(difference(call.rows(), rows), "", name)
                self.assertTrue(all(one.finished for one in call.all()), name)
        tids = [{call.tid for call in trees.named[name]} for name in (*IN_THREADS, "calls")]
        self.assertEqual(sum(map(len, tids)), len(set.union(*tids)), "threads of their own")

    @property
    def promise(self):
        """What the page promises for this test and version."""
        return promised()[self._testMethodName][self.interpreter.release]  # the same without a GIL

    def assertEndsWell(self, target):
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))

    def check(self, companion):
        """While something else hooks into the job."""
        if self.promise == "-":
            self.skipTest("there is no such thing in this version")
        target, expected = self.begin(companion)
        if self.promise == "refused":
            refused = profiler.run("record", "--mode", "trace", "--pid", target.pid, "-d", "1s", "-f", "perfetto", "-o", "/dev/null")
            self.assertNotEqual(refused.status, 0, str(refused))
            self.assertRegex(refused.errors, "profile function")
        else:
            self.assertEqual(self.promise, "exact")
            for _ in range(2):  # the second time the stub is loaded already
                self.assertShapes(self.traced(target, "run"), expected)
        self.assertEndsWell(target)
        print(f"CPython {self.interpreter}, {companion}: {self.promise}, {len(expected)} shapes, "
              f"{sum(map(len, expected.values()))} calls")

    def test_the_page_tells_of_every_shape_and_test(self):
        _, expected = self.begin("nothing")
        self.assertEqual(shapes_of_page(), set(expected))
        tests = {name for name in dir(self) if name.startswith("test_")} - {self._testMethodName}
        self.assertEqual(set(promised()), tests)

    def test_alone(self):
        self.check("nothing")

    def test_a_trace_function_of_the_job(self):
        self.check("settrace")

    def test_coverage_by_monitoring(self):
        self.check("monitoring")

    def test_cprofile_is_on(self):
        if self.interpreter.minor == "3.13t":
            self.skipTest("cProfile of CPython 3.13t breaks by itself where several threads run")
        self.check("profiler")

    def test_a_profile_function_set_and_cleared_in_the_window(self):
        target, expected = self.begin("setprofile")
        trees = self.traced(target, "run")
        if self.promise == "exact":
            self.assertShapes(trees, expected)
        else:  # what is there is right; and the job's own function was left alone, or it would not have ended well
            self.assertEqual(self.promise, "partly")
            if self.interpreter.minor != "3.11":  # there the tracer leaves at its next event, after the end
                self.assertIn("set or cleared a profile function", self.finished.errors)
            for name, rows in expected.items():
                for call in trees.named[name]:
                    self.assertEqual(difference(call.rows(), rows), "", name)
        self.assertEndsWell(target)

    def test_fork_in_the_window(self):
        self.assertEqual(self.promise, "exact")
        target, expected = self.begin("nothing")
        self.assertShapes(self.traced(target, "fork"), expected)
        self.assertEndsWell(target)

    def check_end(self, word, output, status):
        self.assertEqual(self.promise, "exact")
        target, expected = self.begin("nothing")
        with self.recording(target) as run:
            target.tell("run")
            target.expect("ran")
            run.shows(IN_THREADS[-1])  # then all names are there, which an ended process no longer has
            target.tell(word)
            self.assertEqual(target.wait(), status, target.stderr())
            self.assertShapes(self.trees(run), expected, times=2)
        self.assertEqual((target.stdout(), target.stderr()), (output, ""))

    def test_exec_in_the_window(self):
        self.check_end("exec", "became another\n", 0)

    def test_exit_in_the_window(self):
        self.check_end("exit", "left\n", 3)


if __name__ == "__main__":
    case.main()

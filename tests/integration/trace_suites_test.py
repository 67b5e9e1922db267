"""Suites of CPython's own tests. Each of their calls is in a trace as often as sys.setprofile counts it."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.target_process import DEADLINE, TARGETS  # noqa: E402

SUITES = ("test_dataclasses", "test_string")
PROGRAM = "public_suite.py"
CUT = "…"


class TraceSuites(case.Case):
    def setUp(self):
        has = ["-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('test.test_dataclasses'))"]
        if self.interpreter.in_root or subprocess.run([self.interpreter.path, *has], check=False).returncode:
            self.skipTest("this interpreter comes without its tests")
        self.library = f"{pathlib.Path(self.interpreter.path).parent.parent}/lib/python{self.interpreter.release}/"  # files are named from there
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def command(self, suite, *arguments):
        return [str(self.interpreter.path), "-S", str(TARGETS / PROGRAM), suite, *map(str, arguments)]

    def environment(self):
        return {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}

    def counted(self, suite):
        """{(file, line, name): times}: counts that are the same in two runs, as some tests do random things."""
        runs = []
        for number in range(2):
            counts = self.folder / f"{number}.json"
            subprocess.run(self.command(suite, counts), check=True, stdout=subprocess.PIPE, env=self.environment(),
                           cwd=self.folder, timeout=DEADLINE)
            runs.append({tuple(code): times for *code, times in json.loads(counts.read_text())})
        alike = {code: times for code, times in runs[0].items()
                 if runs[1].get(code) == times and not code[0].endswith("/threading.py")}
        self.assertGreater(len(alike), 0.9 * max(map(len, runs)))
        return alike

    def traced(self, suite):
        output = self.folder / "trace.json"
        done = subprocess.run([profiler.BINARY, "record", "--mode", "trace", "--format", "chrome", "-o", output, "--",
                               *self.command(suite)], capture_output=True, text=True, env=self.environment(),
                              cwd=self.folder, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\n +lost 0, returns without a call 0")
        return collections.Counter(event["name"] for event in json.loads(output.read_text())["traceEvents"]
                                   if event.get("cat") == "python_function")

    def of_cut_names(self, traced, counted):
        """{code: times} of names with a mark: a trace has only the end of a long name if its code was freed at once."""
        found = collections.Counter()
        for name in [name for name in traced if CUT in name]:
            file, line, function = re.fullmatch(r"(.*)\((\d+)\): (.*)", name).groups()
            meant = [code for code in counted if code[0].endswith(file.lstrip(CUT)) and code[1] == int(line)
                     and code[2].endswith(function.lstrip(CUT))]
            self.assertLessEqual(len(meant), 1, name)
            found.update({code: traced[name] for code in meant})
        return found

    def test_every_call_is_there(self):
        for suite in SUITES:
            with self.subTest(suite):
                counted, traced = self.counted(suite), self.traced(suite)
                cut, different = self.of_cut_names(traced, counted), {}
                for code, times in counted.items():
                    name = "{}({}): {}".format(code[0].replace(self.library, ""), *code[1:])
                    if traced[name] + cut[code] != times:
                        different[name] = (times, traced[name] + cut[code])
                self.assertEqual(different, {}, f"{len(different)} of {len(counted)}: (counted, traced)")
                print(f"CPython {self.interpreter}, {suite}: {sum(counted.values())} calls of {len(counted)} functions")


if __name__ == "__main__":
    case.main()

"""Every frame's line, name and columns are those that the interpreter itself reports, for every shape of call."""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402

_FRAME = re.compile(r'  File "(.*)", line (\d+) in (.*)')


def faulthandler_stacks(text):
    """ident -> [(file, line, name)], innermost first."""
    stacks = {}
    for line in text.splitlines():
        if line.startswith("Thread "):
            current = stacks.setdefault(int(line.split()[1], 16), [])
        elif _FRAME.match(line):
            file, number, name = _FRAME.match(line).groups()
            current.append((file, int(number), name.rsplit(".", 1)[-1]))
    return stacks


class LinesAgree(case.Case):
    def check(self, interpreter):
        target = self.start("multiline.py", interpreter=interpreter)
        truth = faulthandler_stacks(target.expect("truth").text.split(" ", 1)[1])
        self.assertGreater(len(truth), 30)
        threads = {thread.raw["python_ident"]: thread for thread in profiler.dump(target.pid)}
        compared = 0
        for ident, frames in truth.items():
            ours = [(frame.file, frame.line, frame.plain) for frame in reversed(threads[ident].stack)]
            self.assertEqual(ours, frames, threads[ident].name)
            compared += len(frames)
        positions = self.check_positions(target, threads) if interpreter.numbers >= (3, 11) else 0
        self.assertEqual(target.finish(), 0)
        self.assertIn("shapes ended well", target.stdout())
        print(f"CPython {interpreter}: {compared} frames agree with faulthandler, {positions} positions with co_positions")

    def check_positions(self, target, threads):
        compared = 0
        for ident in list(threads):
            if threads[ident].raw["main"]:
                continue
            _, told, truth = target.expect("positions").text.split(" ", 2)
            thread = threads[int(told, 16)]
            ours = [[frame["line"], frame["end_line"], frame["column"], frame["end_column"]]
                    for frame in thread.raw["frames"]]
            self.assertEqual(ours, json.loads(truth), thread.name)
            compared += len(ours)
        return compared

    def test_lines_and_columns(self):
        for interpreter in self.interpreters:
            with self.subTest(str(interpreter)):
                self.check(interpreter)

    def test_compiled_code_has_a_name_and_no_line(self):
        for interpreter in self.interpreters:
            if interpreter.numbers < (3, 11):
                continue  # their code objects are empty there, and cannot be made in Python
            with self.subTest(str(interpreter)):
                target = self.start_waiting("looks_compiled.py", interpreter=interpreter)
                stack = profiler.dump(target.pid)[0].raw["frames"]
                lines = {frame["function"].rpartition(".")[2]: frame.get("line") for frame in stack}
                self.assertFalse(lines["compiled"], lines)
                self.assertTrue(lines["main"] and lines["<lambda>"], lines)


if __name__ == "__main__":
    case.main()

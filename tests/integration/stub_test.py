#!/usr/bin/env python3
"""The tracer stub in real interpreters, which act as their own collector: tests/targets/stub_checks.py, and
tests/targets/stub_cycles.py for two seconds (a minute with PTRACE_PROF_SOAK=1).

PP_CHECKS: names of the checks to run, instead of all.
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support import case, stub  # noqa: E402


class StubInInterpreters(case.Case):
    def test_checks(self):
        for interpreter in self.interpreters:
            with self.subTest(interpreter=str(interpreter)):
                self.run_checks(interpreter)

    def run_checks(self, interpreter):
        names = os.environ.get("PP_CHECKS", "").split()
        target = self.start("stub_checks.py", *names, interpreter=interpreter, env=stub.environment())
        stub.tell_layout(target)
        good, bad = [], []
        while True:
            message = target.hear().text
            if message == "done":
                break
            (good if message.startswith("good ") else bad).append(message.split(" ", 1)[1])
        print(f"{interpreter}: {len(good)} checks passed, {len(bad)} failed")
        self.assertEqual("\n\n".join(bad), "")
        self.assertGreater(len(good), 0)
        self.assertEqual(target.wait(), 0, target.stderr())
        self.assertEqual(target.stderr(), "")

    def test_cycles(self):
        seconds = 60 if os.environ.get("PTRACE_PROF_SOAK") else 2
        target = self.start("stub_cycles.py", seconds, env=stub.environment())
        stub.tell_layout(target)
        counts, wrong = json.loads(target.expect("cycles").text.split(" ", 1)[1])
        print(f"{self.interpreter}: {counts}")
        self.assertEqual(wrong, [])
        self.assertGreater(min(counts.values()), 0, counts)
        self.assertEqual((target.wait(), target.stderr()), (0, ""))


if __name__ == "__main__":
    case.main()

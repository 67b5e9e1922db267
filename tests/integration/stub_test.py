#!/usr/bin/env python3
"""The tracer stub in real interpreters: tests/targets/stub_checks.py, which plays the collector to itself.

PP_CHECKS: names of the checks to run, instead of all.
"""
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


if __name__ == "__main__":
    case.main()

#!/usr/bin/env python3
"""The tracer stub in real interpreters: tests/targets/stub_checks.py, one test per interpreter of the minor.

The target plays the collector to itself; this side gives it the built stub, the names in its boot block as the header
has them, and the layout of its interpreter as our own readers see it.
"""
import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support import case  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUB = pathlib.Path(os.environ.get("PP_STUB", ROOT / "build/release/attach/ptrace_prof_stub.so"))
LAYOUT = os.environ.get("PP_STUB_LAYOUT", str(ROOT / "build/bin/tests/stub_layout"))


def names_in_boot_block():
    header = (ROOT / "attach/abi/boot.h").read_text()
    for macro in ("PP_FOR_EACH_FUNCTION", "PP_FOR_EACH_OFFSET"):
        text = header[header.index(f"#define {macro}(X)"):]
        yield re.findall(r"\bX\((\w+)\)", text[text.index("\n"):text.index("\n\n")])


def what_the_target_needs():
    functions, offsets = names_in_boot_block()
    version = re.search(r"PP_ABI_VERSION (\d+)", (ROOT / "attach/abi/abi.h").read_text()).group(1)
    given = {"image": base64.b64encode(STUB.read_bytes()).decode(), "functions": functions, "offsets": offsets,
             "abi_version": int(version)}
    return base64.b64encode(zlib.compress(json.dumps(given).encode())).decode()


class StubInInterpreters(case.Case):
    def test_checks(self):
        for interpreter in self.interpreters:
            with self.subTest(interpreter=str(interpreter)):
                self.run_checks(interpreter)

    def run_checks(self, interpreter):
        checks = os.environ.get("PP_CHECKS", "").split()
        target = self.start("stub_checks.py", *checks, interpreter=interpreter, env={"PP_STUB_TEST": what_the_target_needs()})
        target.expect("layout")
        layout = subprocess.run([LAYOUT, str(target.pid)], capture_output=True, text=True, timeout=60)
        self.assertEqual(layout.returncode, 0, layout.stderr)
        target.tell(layout.stdout)
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

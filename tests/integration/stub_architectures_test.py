#!/usr/bin/env python3
"""The tracer stub compiles for the architectures that this machine does not have, with every cross compiler that is
there."""
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=gnu11", "-O2", "-ffreestanding", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-Wall", "-Wextra",
         "-Wshadow", "-Werror", "-c", "-o", "/dev/null", f"-I{ROOT}"]


def compiler(architecture):
    for command in ([f"{architecture}-linux-gnu-gcc"], ["clang-14", f"--target={architecture}-linux-gnu"],
                    ["clang", f"--target={architecture}-linux-gnu"]):
        if shutil.which(command[0]):
            return command
    return None


class Architectures(unittest.TestCase):
    def test_each(self):
        for header in sorted(ROOT.glob("attach/target/shared/arch_*.h")):
            architecture = header.stem.split("_", 1)[1]
            command = compiler(architecture)
            if command is None:
                self.skipTest(f"no compiler for {architecture} here")
            for source in sorted(ROOT.glob("attach/target/*/*.c")):
                with self.subTest(architecture=architecture, source=source.name):
                    name = header.relative_to(ROOT).as_posix()
                    done = subprocess.run([*command, *FLAGS, f'-DPP_ARCHITECTURE="{name}"', str(source)],
                                          capture_output=True, text=True, timeout=60)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)

"""`cmake --install` puts everything that a node needs under one folder, and the unit names the installed program."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import runner  # noqa: E402
from support.target_process import DEADLINE  # noqa: E402

BUILD, PREFIX = os.environ.get("PP_BUILD_DIR"), os.environ.get("PP_INSTALL_PREFIX", "/usr/local")
PROGRAMS = ("bin/ptrace-prof", "bin/ptrace-profd")
TEXTS = ("lib/systemd/system/ptrace-profd.service", "lib/systemd/system/ptrace-profd.socket", "lib/sysusers.d/ptrace-prof.conf",
         "lib/tmpfiles.d/ptrace-prof.conf", "share/doc/ptrace-prof/policy.example.toml", "share/man/man1/ptrace-prof.1",
         "share/man/man5/ptrace-prof-policy.5", "share/man/man8/ptrace-profd.8")

ROTATION = "etc/logrotate.d/ptrace-prof"  # beside /usr


@unittest.skipUnless(BUILD and shutil.which("cmake"), "only where it was built")
class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="pp-install-")
        cls.addClassCleanup(folder.cleanup)
        done = subprocess.run(["cmake", "--install", BUILD], env={**os.environ, "DESTDIR": folder.name}, text=True, capture_output=True,
                              timeout=DEADLINE)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.root = pathlib.Path(folder.name)
        cls.place = cls.root / PREFIX.lstrip("/")

    def test_all_of_it_is_there_and_nothing_else(self):
        outside = [path for path in self.root.rglob("*") if path.is_file() and self.place not in path.parents]
        self.assertEqual(len(outside), 1 if PREFIX == "/usr" else 0, outside)
        there = {str(path.relative_to(self.place)) for path in self.place.rglob("*") if path.is_file()}
        self.assertEqual(there | {str(path.relative_to(self.root)) for path in outside}, {*PROGRAMS, *TEXTS, ROTATION})

    def test_programs_run_and_texts_are_for_everybody(self):
        for name in PROGRAMS:
            with self.subTest(name):
                done = subprocess.run([self.place / name, "--version"], capture_output=True, timeout=DEADLINE)
                self.assertEqual(done.returncode, 0, done)
        for name in TEXTS:
            with self.subTest(name):
                self.assertEqual((self.place / name).stat().st_mode & 0o777, 0o644)
                self.assertGreater((self.place / name).stat().st_size, 0)

    def test_the_unit_starts_the_program_that_was_installed(self):
        started = re.search(r"^ExecStart=(\S+)", (self.place / TEXTS[0]).read_text(), re.MULTILINE)[1]
        self.assertEqual(started, f"{PREFIX}/bin/ptrace-profd")


if __name__ == "__main__":
    runner.main()

"""The base of the exporters' integration tests: a folder with synthetic traces in every format, and a browser."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import runner  # noqa: E402
from support.browser import Browser, find_chromium, served  # noqa: E402

SPEEDSCOPE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "third_party", "speedscope")


class ExportFiles(unittest.TestCase):
    maker = None
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="pp-export-"))
        subprocess.run([cls.maker, cls.folder], check=True)

    @classmethod
    def start_browser(cls):
        cls.base = cls.enterClassContext(served({"/": cls.folder, "/speedscope": SPEEDSCOPE}))
        cls.browser = cls.enterClassContext(Browser())

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as stream:
            return stream.read()


def main(*needs):
    """`needs`: what must be there, as (present, name). If something is missing: exit status 77, with its name."""
    missing = [name for present, name in needs if not present]
    if missing:
        print("cannot run here: " + ", ".join(missing) + " is missing")
        sys.exit(runner.SKIPPED)
    ExportFiles.maker = os.path.abspath(sys.argv.pop(1))
    runner.main()


CHROMIUM = (find_chromium() is not None, "Chromium (Debian package chromium)")

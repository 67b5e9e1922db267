"""The manual pages are complete, and programs that read roff (mandoc, groff) find no fault in them."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import runner  # noqa: E402
from support.daemon import BINARY as DAEMON  # noqa: E402
from support.profiler import BINARY  # noqa: E402
from support.target_process import DEADLINE  # noqa: E402

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
POLICY = (sys.executable, PACKAGING / "policy_manual.py", PACKAGING / "policy.example.toml", "0.0")
PAGES = {"ptrace-prof.1": (BINARY, "--help-man"), "ptrace-profd.8": (DAEMON, "--help-man"),
         **({"ptrace-prof-policy.5": POLICY} if POLICY[2].exists() else {})}


def output_of(*command, **options):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True, timeout=DEADLINE,
                          **options).stdout


def shown(page):
    """The page as on a terminal, without the characters that make words bold."""
    text = output_of("groff", "-man", "-Tascii", "-P-c", "-rLL=2000n", input=page, env={**os.environ, "LC_ALL": "C"})
    return re.sub(".\b", "", text)


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = {name: output_of(*command) for name, command in PAGES.items()}

    def test_roff_has_no_fault(self):
        for name, page in self.pages.items():
            with self.subTest(page=name):
                if shutil.which("mandoc"):
                    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=page, capture_output=True, text=True,
                                          timeout=DEADLINE)
                    self.assertEqual((lint.stdout, lint.stderr, lint.returncode), ("", "", 0))
                groff = subprocess.run(["groff", "-man", "-ww", "-z"], input=page, capture_output=True, text=True,
                                       timeout=DEADLINE)
                self.assertEqual((groff.stderr, groff.returncode), ("", 0))
                self.assertTrue(page.isascii(), [c for c in page if not c.isascii()])

    def test_every_option_is_there(self):
        commands = re.findall(r"^  (\w+) {2,}", output_of(BINARY, "--help").split("Subcommands:")[1].split("\n\n")[0], re.M)
        self.assertIn("audit", commands)
        for name, helps in (("ptrace-profd.8", [output_of(DAEMON, "--help")]),
                            ("ptrace-prof.1", [output_of(BINARY, *command, "--help") for command in
                                               [(), *((word,) for word in commands), ("captures", "fetch"),
                                                ("daemon", "cancel"), ("daemon", "audit")]])):
            text = shown(self.pages[name])
            for option in set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", "\n".join(helps), re.M)):
                self.assertIn(option, text, name)
        for word in commands:
            self.assertRegex(shown(self.pages["ptrace-prof.1"]), rf"(?m)^   {word}$")

    @unittest.skipUnless((PACKAGING / "policy.example.toml").exists(), "there is no policy")
    def test_the_policy_is_told_whole(self):
        text = re.sub(r"\s+", " ", shown(self.pages["ptrace-prof-policy.5"]))
        for line in (PACKAGING / "policy.example.toml").read_text().splitlines():
            words = re.sub(r"\s+", " ", line.lstrip("# ") if not line.startswith("#[") else line).strip()
            self.assertIn(words, text)

    def test_nobody_else_hears_of_the_option(self):
        for program in (BINARY, DAEMON):
            self.assertNotIn("--help-man", output_of(program, "--help"))


if __name__ == "__main__":
    if not shutil.which("groff") or not os.access(BINARY, os.X_OK):
        raise SystemExit(runner.SKIPPED)
    runner.main()

"""Names that are not UTF-8: of a target's code, files, variables and threads, and of the target itself. No command
fails because of them, alone or through a daemon, all output is text, and no message mentions protobuf."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import daemon  # noqa: E402
from support.profiler import BINARY  # noqa: E402
from support.target_process import DEADLINE, TARGETS, harm  # noqa: E402
from support.terminal_run import PYTHON, TerminalCase, main  # noqa: E402

BAD_WORD = b"\xff\xc3( \xed\xa0\x80" + "\u202e\u2069\u2029\ufeff".encode()
# Characters that must never be shown as they are: all without a glyph, except for line ends, and surrogates.
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]")
JSON_HIDDEN = re.compile(r"(?<!\\)(\\\\)*\\u(00[0189]|061c|20[026]|d[89a-f]|feff)", re.IGNORECASE)
TEXTS = ("html", "svg", "collapsed", "txt", "speedscope.json", "json")
FORMATS = ("html", "svg", "collapsed", "txt", "pftrace", "speedscope.json", "pb.gz", "json")


class BadNames(TerminalCase):
    def setUp(self):
        super().setUp()
        place = daemon.Place()
        self.addCleanup(place.close)
        self.server = daemon.Daemon(place)
        self.addCleanup(self.server.close)
        self.addCleanup(self.assert_tidy_log)
        self.hosts = ("none", place.address)

    def assert_tidy_log(self):
        """The daemon printed nothing but lines of its log."""
        for line in self.server.words().splitlines():
            self.assertTrue(line.startswith("time="), line)

    def start(self, command, **options):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, **options)
        self.addCleanup(self._end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def target(self):
        environment = {**os.environb, b"SLURM_JOB_ID": b"7\xff", b"SLURM_STEP_ID": BAD_WORD, b"RANK": b"\xfe"}
        return self.start([PYTHON.encode(), str(TARGETS / "bad_names.py").encode(), BAD_WORD], env=environment)

    def nobody(self):
        """A process that is not Python; its name and that of its program are bad too."""
        program = os.fsencode(self.folder) + b"/no\xff\xed\xa0\x80python"
        shutil.copy(shutil.which("perl"), program)
        return self.start([program, "-e", r'$0 = "\xff\xfe"; $| = 1; print "ready\n"; sleep 1000'])

    def said(self, host, *arguments, status=0):
        done = subprocess.run([BINARY, *map(str, arguments), "--host", host], capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=DEADLINE)
        errors = done.stderr.decode()  # must be text
        self.assertEqual(done.returncode, status, errors)
        for word in ("protobuf", "UTF-8", "utf8"):
            self.assertNotIn(word, errors)
        output = done.stdout.decode()
        for words in (errors, output):
            self.assert_seen(words, "--json" in arguments)
        return output, errors

    def assert_seen(self, words, is_json):
        """Every character must have a glyph, also after the escapes of JSON have been decoded."""
        found = HIDDEN.search(words) or (is_json and JSON_HIDDEN.search(words))
        self.assertFalse(found, found and words[max(found.start() - 60, 0):found.end() + 60])

    def test_looking(self):
        target = self.target()
        for host in self.hosts:
            text, _ = self.said(host, "dump", "--pid", target.pid, "--locals")
            self.assertEqual(text.count("  Class"), 2, text)
            document = json.loads(self.said(host, "dump", "--pid", target.pid, "--locals", "--json")[0])
            self.assertEqual(len(document["processes"][0]["threads"]), 2)
            rows = json.loads(self.said(host, "ps", "--json")[0])
            self.assertIn(target.pid, [row["pid"] for row in rows])
            self.said(host, "ps")
            self.said(host, "doctor", "--pid", target.pid)
            json.loads(self.said(host, "doctor", "--pid", target.pid, "--json")[0])
        self.assertEqual(harm(target.pid), [])

    def test_recording(self):
        target = self.target()
        for host in self.hosts:
            for name in FORMATS:
                output = self.folder / f"x.{name}"
                self.said(host, "record", "--pid", target.pid, "-d", "200ms", "-o", output)
                self.assertGreater(output.stat().st_size, 0)
                if name in TEXTS:
                    text = output.read_text()
                    self.assertIn("bad\ufffd\ufffd\\u202e\\u2066", text.replace("\\\\", "\\"), name)
                    self.assert_seen(text, "json" in name)
            self.assertIn("bad", (self.folder / "x.collapsed").read_text())
            self.said(host, "record", "--name", "bad_names.py", "-d", "200ms", "-o", self.folder / "x.collapsed")

    def test_live(self):
        target = self.target()
        for host in self.hosts:
            for view in ("functions", "lines", "threads", "processes"):
                text, _ = self.said(host, "top", "--pid", target.pid, "--count", 1, "--interval", "300ms", "--by", view)
                self.assertNotIn("\x1b", text)
                self.assertIn({"threads": "thread", "processes": str(target.pid)}.get(view, "bad"), text)

    def test_kept(self):
        target = self.target()
        host = self.hosts[1]
        capture = self.said(host, "record", "--detach", "--pid", target.pid)[0].strip()
        self.assertTrue(daemon.within_deadline(
            lambda: json.loads(self.said(host, "captures", "list", "--json")[0])["captures"][0]["samples"] > 0))
        target.kill()
        target.wait()
        self.said(host, "captures", "watch", capture)
        self.said(host, "captures", "list")
        self.said(host, "captures", "fetch", capture, "-o", self.folder / "x.collapsed")
        self.assertIn("bad", (self.folder / "x.collapsed").read_text())

    def test_refusals_that_name_it(self):
        process = self.nobody()
        for host in self.hosts:
            for command in (["dump"], ["record", "-d", "1s", "-o", self.folder / "x.html"], ["top", "--count", 1]):
                errors = self.said(host, *command, "--pid", process.pid, status=5)[1]
                self.assertIn(str(process.pid), errors)
        self.said(self.hosts[1], "record", "--detach", "--pid", process.pid, status=5)


if __name__ == "__main__":
    main()

"""`record --mode trace -- COMMAND`: every call from the program's first one on, however the program is started."""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.target_process import TARGETS  # noqa: E402

AHEAD = "when tracing began"  # the message about a program that was not held


class TraceStart(case.Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)

    def command(self, script, *options):
        """(what to put in front of the profiler, the command)"""
        interpreter = self.interpreter
        if not interpreter.in_root:
            return (), [interpreter.path, *options, str(TARGETS / script)]
        root = interpreter.root
        mounts = "; ".join(("set -e", "mount --make-rprivate /", f"mkdir -p {root}/proc {root}/mnt",
                            f"mount --bind {shlex.quote(str(TARGETS))} {root}/mnt", f"mount -t proc proc {root}/proc",
                            'exec "$@"'))
        chroot = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")
        return ("unshare", "--mount", "sh", "-c", mounts, "sh"), [chroot, root, interpreter.path, *options, f"/mnt/{script}"]

    def record(self, prefix, command, *options):
        """The errors of a recording whose command was asked to end after the recording, and its slices."""
        output = self.folder / "trace.json"
        process = subprocess.Popen([*prefix, profiler.BINARY, "record", "-d", "1s", "-o", output, "--format", "chrome",
                                    *options, "--", *command], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        errors = ""
        while "wrote " not in errors and (line := process.stderr.readline()):  # the command still runs
            errors += line
        errors += process.communicate("\n", timeout=profiler.DEADLINE)[1]
        self.assertEqual(process.returncode, 0, errors)
        events = [event for event in json.loads(output.read_text())["traceEvents"] if event["ph"] == "X"]
        begin = min((event["ts"] for event in events if event["name"].endswith("first_calls.py(1): <module>")), default=None)
        # Earlier code may have been at the addresses of the program's code.
        return errors, [event for event in events
                        if event["name"].endswith("): first") and begin is not None and event["ts"] >= begin]

    def assertWhole(self, errors, calls):
        self.assertEqual(len(calls), 1000, errors)
        self.assertRegex(errors, r"\n +lost 0, returns without a call 0")
        self.assertNotIn(AHEAD, errors)

    def test_from_the_first_call_on(self):
        for options in ((), ("-I", "-S")):  # with and without imports of its own before the program
            with self.subTest(options):
                prefix, command = self.command("first_calls.py", *options)
                self.assertWhole(*self.record(prefix, command, "--mode", "trace"))

    def test_through_another_program(self):
        prefix, command = self.command("first_calls.py")
        self.assertWhole(*self.record(prefix, ["env", "sh", "-c", 'exec "$@"', "sh", *command], "--mode", "trace"))

    def test_auto_samples_a_program_that_is_not_traced(self):
        if self.interpreter.numbers >= (3, 12):
            return
        prefix, command = self.command("first_calls.py")
        errors, _ = self.record(prefix, command, "--mode", "auto")
        self.assertIn("sampling, not tracing", errors)

    def test_a_program_with_rights_of_its_owner_keeps_them(self):
        """A tracer without privileges would take them away."""
        if self.interpreter.numbers[:2] != (3, 11):  # independent of the version
            return
        if os.getuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        program = self.folder / "id"
        shutil.copy(shutil.which("id"), program)
        program.chmod(0o4755)
        for command in ([program, "-u"], ["sh", "-c", f"exec {program} -u"]):
            done = subprocess.run(
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
                 profiler.BINARY, "record", "--mode", "trace", "-o", "/dev/null", "--format", "chrome", "--", *command],
                capture_output=True, text=True, timeout=profiler.DEADLINE)
            self.assertEqual(done.stdout, "0\n", done.stderr)


if __name__ == "__main__":
    case.main()

"""Reasons why something fails, each as one word: real causes, without a daemon and through one, in messages and in
JSON."""
import ctypes
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import daemon  # noqa: E402
from support.profiler import BINARY, Recording  # noqa: E402
from support.target_process import DEADLINE, harm  # noqa: E402
from support.terminal_run import PYTHON, TerminalCase, TerminalRun, main, needs_root  # noqa: E402

PTRACE_SEIZE = 0x4206
NO_SUCH_PID = 4_194_303
BARE = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")
WAIT = "import os, sys{}; print('ready', flush=True); sys.stdin.read()"
THREAD = WAIT.format(", threading; threading.Thread(target=sys.stdin.read, daemon=True).start()")
UNDUMPABLE = WAIT.format(", ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)")
CHANGED = WAIT.format(f"; os.setresgid({daemon.USER}, {daemon.USER}, {daemon.USER}); os.setresuid({daemon.USER}, {daemon.USER}, 0)")
EXECS = """import os, select, sys
def works(): sum(range(1000))
print('ready', flush=True)
while not select.select([0], [], [], 0)[0]: works()
os.execv(sys.argv[1], ['sleep', '1000'])
"""
TOLD = re.compile(r"^error: .* \[([A-Z_]+)\]$", re.MULTILINE)
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


class Reasons(TerminalCase):
    def setUp(self):
        super().setUp()
        os.environ.pop("PTRACE_PROF_HOST", None)

    def serve(self, *options, prefix=()):
        """A daemon with this identity."""
        place = daemon.Place()
        self.addCleanup(place.close)
        server = daemon.Daemon(place, *(options and ("--socket", place.socket, *options)), prefix=prefix)
        self.addCleanup(server.close)
        return server

    def target(self, code=WAIT.format(""), *, prefix=(), python=PYTHON, command=None, env=None):
        process = subprocess.Popen([*prefix, *(command or (python, "-S", "-c", code))], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env={**os.environ, **(env or {})})
        self.addCleanup(self._end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def run_one(self, *arguments, prefix=(), env=None):
        return subprocess.run([*prefix, BINARY, *map(str, arguments)], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=DEADLINE, env={**os.environ, **(env or {})}, check=False)

    def told(self, *arguments, prefix=(), env=None):
        """The reason behind the message."""
        done = self.run_one(*arguments, prefix=prefix, env=env)
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stderr, TOLD)
        return TOLD.search(done.stderr)[1]

    def assertRefused(self, reason, pid, *, prefix=(), options=(), ways=None):
        """`record`, `dump` and `doctor` all report the reason, without a daemon and through one."""
        for host in ways or ("none", self.serve(prefix=prefix).place.address):
            with self.subTest(reason, through="no daemon" if host == "none" else "a daemon"):
                output = self.folder / "out.pftrace"
                chosen = ("--pid", pid, "--host", host)
                self.assertEqual(self.told("record", *chosen, *options, "-d", "1s", "-o", output, prefix=prefix), reason)
                self.assertEqual(self.told("dump", *chosen, *options, prefix=prefix), reason)
                self.assertFalse(output.exists())
                document = json.loads(self.run_one("doctor", *chosen, "--json", prefix=prefix).stdout)
                about = [check["reason"] for check in document["checks"] if check["about"] == "process"]
                self.assertIn(reason, about)

    def test_no_such_process(self):
        self.assertRefused("PROCESS_NOT_FOUND", NO_SUCH_PID)

    def test_not_python(self):
        sleeper = self.target(command=("sh", "-c", "echo ready; exec sleep 1000"))
        self.assertRefused("NOT_PYTHON", sleeper.pid)

    def test_an_interpreter_that_has_not_started(self):
        library = next(iter(glob.glob("/usr/lib/*-linux-gnu/libpython3*.so.1.0")), None)
        if library is None:
            self.skipTest("no libpython here")
        sleeper = self.target(command=("sh", "-c", "echo ready; exec sleep 1000"), env={"LD_PRELOAD": library})
        self.assertRefused("PYTHON_NOT_STARTED", sleeper.pid)

    def test_versions_that_are_too_old(self):
        old = [found[0] for minor in ("2.7", "3.6", "3.7")
               if (found := glob.glob(os.path.expanduser(f"~/.pyenv/versions/{minor}*/bin/python")))]
        if not old:
            self.skipTest("no old Python here")
        for python in old:
            target = self.target("import os, sys; os.write(1, b'ready\\n'); sys.stdin.read()", python=python)
            self.assertRefused("PYTHON_UNSUPPORTED", target.pid)

    def test_a_thread(self):
        target = self.target(THREAD)
        self.assertRefused("TARGET_IS_THREAD", max(int(tid) for tid in os.listdir(f"/proc/{target.pid}/task")))

    def test_a_zombie(self):
        target = self.target()
        target.kill()
        os.waitid(os.P_PID, target.pid, os.WEXITED | os.WNOWAIT)
        self.assertRefused("TARGET_IS_ZOMBIE", target.pid)

    def test_a_thread_of_the_kernel(self):
        if not os.path.exists("/proc/2/comm") or pathlib.Path("/proc/2/comm").read_text() != "kthreadd\n":
            self.skipTest("kernel threads are not visible here")
        self.assertRefused("TARGET_IS_KERNEL_THREAD", 2)

    def test_one_that_is_traced(self):
        target = self.target()
        self.assertEqual(libc.ptrace(PTRACE_SEIZE, target.pid, None, None), 0)
        host = self.serve().place.address
        self.assertRefused("ALREADY_TRACED", target.pid, options=["--blocking"], ways=("none", host))
        for way in ("none", host):
            done = self.run_one("dump", "--pid", target.pid, "--host", way)
            self.assertEqual(done.returncode, 0, "to be read it need not be stopped\n" + done.stderr)
            rows = json.loads(self.run_one("ps", "--json", "--host", way).stdout)
            row = next(row for row in rows if row["pid"] == target.pid)
            self.assertEqual((row["profilable"], row["reason_code"]), (True, "ALREADY_TRACED"))

    @needs_root
    def test_that_of_another_user(self):
        self.assertRefused("CALLER_UID_MISMATCH", self.target().pid, prefix=daemon.AS_USER)

    @needs_root
    def test_one_that_is_protected_from_its_user(self):
        target = self.target(UNDUMPABLE, prefix=daemon.AS_USER)
        self.assertRefused("TARGET_NOT_DUMPABLE", target.pid, prefix=daemon.AS_USER)

    @needs_root
    def test_one_that_has_changed_its_ids(self):
        self.assertRefused("TARGET_CHANGED_IDS", self.target(CHANGED).pid, prefix=daemon.AS_USER)

    def test_one_that_becomes_another_program(self):
        """A trace of calls ends at once. Sampling could go on for a minute, in case the new program is a launcher of
        Python."""
        place = daemon.Place()
        self.addCleanup(place.close)
        script = place.folder / "execs.py"  # a file, as the command line is in the trace too
        script.write_text(EXECS)
        runs = {}
        for mode in ("trace", "sample"):
            target = self.target(command=(PYTHON, "-S", script, shutil.which("sleep")))
            recording = Recording(target.pid, "--duration", "1h", "--mode", mode)
            self.addCleanup(recording.remove)
            recording.shows("works")
            runs[mode] = target, recording
        for target, _ in runs.values():
            target.stdin.write(b"go\n")
            target.stdin.flush()
        for mode, (target, recording) in runs.items():
            with self.subTest(mode):
                finished = recording.wait()
                self.assertEqual(finished.status, 0, finished)
                self.assertIsNone(target.poll())
                self.assertIn(f"process {target.pid} has become another program (exec)", finished.errors)
                self.assertIn(b"TARGET_EXECED", recording.trace.read_bytes())
                self.assertTrue(any("works" in stack for stack in map(str, recording.stacks())))

    @needs_root
    def test_root_without_the_right(self):
        self.assertRefused("TARGET_HAS_CAPABILITIES", self.target().pid, prefix=BARE)
        theirs = self.target(UNDUMPABLE, prefix=daemon.AS_USER)
        self.assertRefused("TARGET_NOT_DUMPABLE", theirs.pid, prefix=BARE, ways=("none",))
        host = self.serve(prefix=BARE).place.address  # root becomes an owner only where it may read all anyway
        self.assertRefused("CAPABILITY_MISSING", theirs.pid, prefix=BARE, ways=(host,))
        rows = json.loads(self.run_one("ps", "--json", "--host", "none", prefix=BARE).stdout)
        told = {row["pid"]: row for row in rows}
        self.assertEqual(told[theirs.pid]["reason_code"], "TARGET_NOT_DUMPABLE", "and not our own system call filter")
        self.assertNotIn("sudo", told[theirs.pid]["remedy"])
        said = self.run_one("dump", "--pid", theirs.pid, "--host", "none", prefix=BARE).stderr
        self.assertIn("--cap-add=SYS_PTRACE", said)
        self.assertNotIn("sudo", said, "whoever asks is root already")

    @needs_root
    def test_root_who_cannot_become_the_owner(self):
        bare = ("setpriv", "--bounding-set=-setuid,-setgid", "--inh-caps=-all")
        theirs = self.target(prefix=daemon.AS_USER)
        self.assertRefused("CANNOT_BECOME_OWNER", theirs.pid, prefix=bare, ways=("none",))

    @needs_root
    def test_a_full_disk(self):
        tiny = self.folder / "tiny"
        tiny.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0777", "tmpfs", tiny], capture_output=True,
                                 check=False)
        if mounted.returncode != 0:
            self.skipTest("no file system can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "--lazy", tiny], check=True)
        target = self.spin()
        host = self.serve("--spool", tiny / "spool").place.address
        for way, env in (("none", {"TMPDIR": str(tiny)}), (host, {})):
            with self.subTest(way):
                output = self.folder / f"{len(way)}.collapsed"
                done = self.run_one("record", "--pid", target.pid, "--rate", 20000, "--max-overhead", "off", "-o", output,
                                    "--host", way, env=env)
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertEqual(TOLD.findall(done.stderr), ["DISK_FULL"], done.stderr)
                self.assertIn(str(tiny), done.stderr)
                self.assertIn("spin", output.read_text(), "what was recorded until then is kept")
                self.assertEqual(harm(target.pid), [])

    def test_a_folder_that_is_not_there(self):
        env = {"TMPDIR": str(self.folder / "nowhere")}
        self.assertEqual(self.told("dump", "--pid", self.target().pid, "--host", "none", env=env), "STORAGE_FAILED")

    def test_a_collector_that_dies(self):
        target, server = self.spin(), self.serve()
        for way in ("none", server.place.address):
            with self.subTest(way):
                output = self.folder / f"{len(way)}.pftrace"
                run = TerminalRun("record", "--pid", target.pid, "-o", output, "--host", way)
                self.addCleanup(run.close)
                spool = output.with_name(output.name + ".pftrace.tmp")
                self.assertTrue(daemon.within_deadline(lambda: spool.exists() and spool.stat().st_size))
                os.kill(run.collector() if way == "none" else server.collectors()[0], signal.SIGKILL)
                self.assertNotEqual(run.end(), 0)
                self.assertEqual(TOLD.findall(run.words()), ["COLLECTOR_FAILED"], run.words())
                self.assertEqual(harm(target.pid), [])

    def test_a_launcher_that_died(self):
        server = self.serve()
        launcher = server.launcher
        os.kill(launcher, signal.SIGKILL)
        self.assertEqual(server.process.wait(), 1)  # LAUNCHER_FAILED is for clients that are connected already
        self.assertEqual(self.told("dump", "--pid", self.target().pid, "--host", server.place.address), "SERVER_UNREACHABLE")

    def test_what_the_command_line_finds_out_itself(self):
        missing = f"unix:{self.folder}/no.sock"
        for reason, arguments in (("SERVER_UNREACHABLE", ("ps", "--host", missing)),
                                  ("NO_DAEMON", ("captures", "list", "--host", "none")),
                                  ("NOT_A_TRACE", ("export", "/etc/passwd")),
                                  ("NOT_A_TRACE", ("export", BINARY)),
                                  ("COMMAND_NOT_FOUND", ("record", "-o", self.folder / "x.html", "--", "no-such-command")),
                                  ("COMMAND_NOT_STARTED", ("record", "-o", self.folder / "x.html", "--", self.folder))):
            with self.subTest(reason):
                self.assertEqual(self.told(*arguments), reason)

    def test_captures(self):
        server = self.serve()
        target = self.spin()
        host = ("--host", server.place.address)
        capture = self.run_one("record", "--detach", "--pid", target.pid, *host).stdout.strip()
        os.kill(server.collectors()[0], signal.SIGKILL)
        self.run_one("captures", "watch", capture, *host)
        listed = json.loads(self.run_one("captures", "list", "--json", *host).stdout)
        error = listed["captures"][0]["error"]
        self.assertEqual((error["reason"], error["thing"]), ("COLLECTOR_FAILED", f"capture {capture}"))


if __name__ == "__main__":
    main()

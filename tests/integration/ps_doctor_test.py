"""`ptrace-prof ps` and `doctor` on real processes: what they list, what they report on it, and why something is
impossible."""
import ctypes
import glob
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import daemon, interpreters  # noqa: E402
from support.children import children_of  # noqa: E402
from support.profiler import BINARY  # noqa: E402
from support.target_process import DEADLINE, TargetProcess, copy_of, harm, status_fields  # noqa: E402
from support.terminal_run import AS_NOBODY, PYTHON, TerminalCase, main, needs_root  # noqa: E402

PTRACE_SEIZE = 0x4206
NOBODY = 65534
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

WAIT = "import os, sys{}; print('ready', flush=True); sys.stdin.read()"
SET_RANK = WAIT.format("; os.environ.update(RANK='3', WORLD_SIZE='8', LOCAL_RANK='1')")
# A read of its environment never returns, as nothing resolves the fault (userfaultfd(2), UFFDIO_API, UFFDIO_REGISTER).
TRAP = """
import ctypes, mmap, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
uffd = libc.syscall({}, 0)
page = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
def ioctl(request, *words):
    if uffd < 0 or libc.ioctl(uffd, ctypes.c_ulong(request), struct.pack(f"{{len(words)}}Q", *words)) != 0:
        print("no trap", flush=True)
        sys.exit()
ioctl(0xC018AA3F, 0xAA, 0, 0)
ioctl(0xC020AA00, address, 4096, 1, 0)
for uid in map(int, sys.argv[1:]):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    libc.prctl(4, 1, 0, 0, 0)
ctypes.c_void_p.in_dll(libc, "environ").value = address
print("ready", flush=True)
sys.stdin.read()
""".format({"x86_64": 323, "aarch64": 282}[os.uname().machine])
UNDUMPABLE = WAIT.format(", ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)")


class Inspecting(TerminalCase):
    def target(self, code=WAIT.format(""), *, python=PYTHON, prefix=(), arguments=(), env=None):
        """A Python process that waits for its end."""
        process = subprocess.Popen([*prefix, python, "-S", "-c", code, *arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env={**os.environ, **(env or {})})
        self.addCleanup(self._end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def sleeper(self, env=None):
        """A process that is not Python once it runs its own program."""
        process = subprocess.Popen(["sh", "-c", "echo ready; exec sleep 1000"], stdout=subprocess.PIPE,
                                   env={**os.environ, **(env or {})})
        self.addCleanup(self._end, process)
        process.stdout.readline()
        while os.path.basename(os.readlink(f"/proc/{process.pid}/exe")) in ("sh", "dash", "bash", "busybox"):
            pass
        return process

    def say(self, *arguments, prefix=(), status=0):
        """What it prints, as text."""
        done = subprocess.run([*prefix, BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}{done.stderr}")
        self.errors = done.stderr
        return done.stdout

    def listed(self, *arguments, prefix=()):
        """{pid: entry}"""
        rows = json.loads(self.say("ps", "--json", *arguments, prefix=prefix))
        self.assertEqual([row["pid"] for row in rows], sorted(row["pid"] for row in rows))
        return {row["pid"]: row for row in rows}

    def entry(self, process, *arguments, prefix=()):
        found = self.listed(*arguments, prefix=prefix)
        self.assertIn(process.pid, found)
        return found[process.pid]

    def checks(self, pid=None, prefix=(), status=0):
        """{subject: check} of the process, or of the node."""
        about = () if pid is None else ("--pid", pid)
        document = json.loads(self.say("doctor", "--json", *about, prefix=prefix, status=status))
        self.assertEqual(document["schema"], "ptrace-prof.doctor/1")
        self.assertEqual(document["pid"], pid)
        for check in document["checks"]:
            self.assertTrue(check["cause"], check)
            self.assertIn(check["verdict"], ("ok", "limited", "missing"))
        wanted = "node" if pid is None else "process"
        return {check["subject"]: check for check in document["checks"] if check["about"] == wanted}

    def assertRefused(self, check, cause, remedy=""):
        self.assertEqual(check["verdict"], "missing", check)
        self.assertIn(cause, check["cause"])
        self.assertIn(remedy, check["remedy"])


class Ps(Inspecting):
    def test_tells_what_there_is_to_tell(self):
        target = self.target(arguments=["--lr", "0.1 \x1b[31m"])
        entry = self.entry(target)
        self.assertTrue(entry["profilable"], entry)
        self.assertEqual(entry["reason"], "")
        version = subprocess.run([PYTHON, "-c", "import platform; print(platform.python_version())"],
                                 capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(entry["python"], version)
        self.assertEqual(entry["kind"], "python")
        self.assertEqual((entry["uid"], entry["namespace_pid"]), (os.geteuid(), target.pid))
        self.assertEqual(entry["parent_pid"], os.getpid())
        self.assertRegex(entry["command_line"][-1], r"^0.1 \\x1b\[31m$")
        self.assertEqual((entry["rank"], entry["world_size"], entry["slurm_job"]), (None, None, None))
        self.assertEqual(entry["gpu_libraries"], [])
        self.assertEqual(harm(target.pid), [])

    def test_the_table(self):
        target = self.target(SET_RANK, arguments=["--lr", "0.1"], env={"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0"})
        lines = self.say("ps").splitlines()
        self.assertEqual(lines[0].split(), "PID USER PYTHON RANK JOB CONTAINER GPU COMMAND".split())
        line = next(line for line in lines if line.split()[0] == str(target.pid))
        self.assertEqual(line.split()[3:5], ["3/8", "4711.0"])
        self.assertTrue(line.endswith("--lr 0.1"))

    def test_ranks_given_at_the_start_and_set_later(self):
        early = self.target(env={"RANK": "5", "WORLD_SIZE": "16", "LOCAL_RANK": "1"})
        late = self.target(SET_RANK, env={"RANK": "5"})
        rows = self.listed()
        for process, wanted in ((early, (5, 16, 1)), (late, (3, 8, 1))):
            row = rows[process.pid]
            self.assertEqual((row["rank"], row["world_size"], row["local_rank"]), wanted)

    def test_every_interpreter_tells_its_version_and_rank(self):
        for interpreter in interpreters.discover():
            if interpreter.in_root:
                continue
            with self.subTest(str(interpreter)):
                entry = self.entry(self.target(SET_RANK, python=interpreter.path))
                self.assertTrue(entry["profilable"], entry)
                self.assertTrue(entry["python"].startswith(interpreter.version), entry["python"])
                self.assertEqual((entry["rank"], entry["world_size"]), (3, 8))

    def test_containers(self):
        roots = [one for one in interpreters.discover() if one.in_root]
        if not roots:
            self.skipTest("no root file system was unpacked here (./dev setup), or we are not root")
        for interpreter in roots:
            with self.subTest(str(interpreter)), TargetProcess("longsleep.py", interpreter,
                                                               env={"RANK": "2", "WORLD_SIZE": "4"}) as target:
                entry = self.entry(target)
                self.assertTrue(entry["profilable"], entry)
                self.assertEqual(entry["namespace_pid"], 1)
                self.assertTrue(entry["container_runtime"])
                self.assertEqual(entry["rank"], 2)
                self.assertTrue(entry["python"].startswith(interpreter.version))
                self.assertEqual(self.checks(target.pid)["interpreter-layout"]["verdict"], "ok")

    def test_a_python_by_another_name(self):
        static = [one.path for one in interpreters.discover() if one.kind == "pyenv"]
        if not static:
            self.skipTest("no interpreter in one file")
        python = copy_of(static[0], self.folder, "trainer")
        home = {"PYTHONHOME": str(pathlib.Path(static[0]).resolve().parent.parent)}
        first, second = (self.target(python=str(python), env=home) for _ in range(2))
        rows = self.listed()
        for process in (first, second):
            self.assertIn(process.pid, rows)
            self.assertTrue(rows[process.pid]["profilable"], rows[process.pid])
        python.unlink()
        self.assertTrue(self.entry(first)["profilable"], "a deleted one is as good")

    def test_filters(self):
        first, second = self.target(arguments=["alpha.py"]), self.target(arguments=["beta.py"])
        rows = self.listed("--name", "alpha\\.py|gamma")
        self.assertIn(first.pid, rows)
        self.assertNotIn(second.pid, rows)
        self.assertIn(first.pid, self.listed("--user", os.geteuid()))
        self.assertNotIn(first.pid, self.listed("--user", 54321))
        self.assertEqual(self.listed("--name", "^there is no such thing$"), {})
        self.refuse(2, "ps", "--name", "[", says=["'['"])
        self.refuse(2, "ps", "--user", "nobody-of-this-name")

    def test_what_is_no_python_is_not_listed(self):
        sleeper = self.sleeper()
        self.assertNotIn(sleeper.pid, self.listed("--all"))
        self.assertNotIn(2, self.listed("--all"))  # kthreadd

    def test_a_library_that_nobody_uses(self):
        library = next(iter(glob.glob("/usr/lib/*-linux-gnu/libpython3*.so.1.0")), None)
        if library is None:
            self.skipTest("no libpython here")
        sleeper = self.sleeper(env={"LD_PRELOAD": library})
        self.assertNotIn(sleeper.pid, self.listed())
        entry = self.entry(sleeper, "--all")
        self.assertEqual((entry["kind"], entry["profilable"]), ("library-only", False))
        self.assertIn("no interpreter runs", entry["reason"])

    def test_an_ended_one_is_listed_on_demand(self):
        target = self.target()
        target.stdin.close()
        os.waitid(os.P_PID, target.pid, os.WEXITED | os.WNOWAIT)
        self.assertNotIn(target.pid, self.listed())
        entry = self.entry(target, "--all")
        self.assertEqual((entry["kind"], entry["profilable"]), ("ended", False))
        self.assertIn("zombie", entry["reason"])

    def test_a_traced_one(self):
        target = self.target()
        self.assertEqual(libc.ptrace(PTRACE_SEIZE, target.pid, None, None), 0)
        entry = self.entry(target)
        self.assertTrue(entry["profilable"])
        self.assertIn(f"traced by process {os.getpid()}", entry["reason"])
        check = self.checks(target.pid)["tracer"]
        self.assertEqual(check["verdict"], "limited")
        self.assertIn(f"process {os.getpid()}", check["cause"])
        self.assertIn("end that", check["remedy"])

    def test_one_that_nobody_can_read_to_its_end(self):
        trap = self.trap()
        others = [self.target(SET_RANK) for _ in range(2)]
        rows = self.listed()
        self.assertEqual([rows[other.pid]["rank"] for other in others], [3, 3])
        self.assertFalse(rows[trap.pid]["profilable"])
        self.assertIn("made no progress for", rows[trap.pid]["reason"])
        self.assertEqual(harm(trap.pid), [])

    @needs_root
    def test_the_traps_of_one_user_cost_others_little(self):
        traps = [self.trap(uid=54322) for _ in range(5)]
        mine = self.target(SET_RANK)
        rows = self.listed()
        self.assertEqual(rows[mine.pid]["rank"], 3)
        reasons = sorted("was not started" in rows[trap.pid]["reason"] for trap in traps)
        self.assertEqual(reasons, [False, False, False, True, True])

    @needs_root
    def test_who_lists_for_root_keeps_what_it_needs_to_start_others(self):
        """It decodes data from children that have read targets. (A trap keeps one of them waiting meanwhile.)"""
        self.trap(uid=54322)
        listing = self.ptrace_prof("ps", "--json")
        self.assertTrue(daemon.within_deadline(lambda: children_of(listing.pid)))
        lister = listing.collector()
        self.assertTrue(daemon.within_deadline(lambda: status_fields(lister)["Seccomp"] == "2"))
        seen = status_fields(lister)
        needed = 1 << 5 | 1 << 6 | 1 << 7 | 1 << 19  # KILL, SETGID, SETUID, SYS_PTRACE
        self.assertEqual(int(seen["CapPrm"], 16) & ~needed, 0)
        self.assertEqual([int(seen[which], 16) for which in ("CapInh", "CapBnd", "CapAmb")], [0, 0, 0])
        self.assertEqual(seen["NoNewPrivs"], "1")
        limits = pathlib.Path(f"/proc/{lister}/limits").read_text()
        self.assertRegex(limits, r"Max file size +0 +0 ")
        self.assertRegex(limits, r"Max core file size +0 +0 ")
        self.assertEqual(listing.end(), 0, listing.words())

    def trap(self, uid=None):
        trap = subprocess.Popen([PYTHON, "-S", "-c", TRAP, *([] if uid is None else [str(uid)])], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        self.addCleanup(self._end, trap)
        if trap.stdout.readline() != b"ready\n":
            self.skipTest("userfaultfd is not for us here")
        return trap

    @needs_root
    def test_that_of_another_user(self):
        target = self.target(SET_RANK)
        entry = self.entry(target, prefix=AS_NOBODY)
        self.assertFalse(entry["profilable"])
        self.assertIn("belongs to root", entry["reason"])
        self.assertIn("sudo", entry["remedy"])
        self.assertIsNone(entry["python"])
        text = self.say("ps", prefix=AS_NOBODY).splitlines()
        row = next(i for i, line in enumerate(text) if line.split()[0] == str(target.pid))
        self.assertRegex(text[row + 1], r"^ +\^ cannot be profiled: .*belongs to root.* -- run as root or with sudo$")
        self.assertIn("could not be checked; if Python runs there", self.errors)

    @needs_root
    def test_root_and_the_owner_see_the_same(self):
        target = self.target(SET_RANK, prefix=AS_NOBODY)
        for prefix in ((), AS_NOBODY):
            with self.subTest(prefix):
                entry = self.entry(target, prefix=prefix)
                self.assertTrue(entry["profilable"], entry)
                self.assertEqual((entry["uid"], entry["rank"], entry["world_size"]), (NOBODY, 3, 8))

    @needs_root
    def test_one_that_is_protected_from_its_user(self):
        target = self.target(UNDUMPABLE, prefix=AS_NOBODY)
        self.assertTrue(self.entry(target)["profilable"], "root may")
        entry = self.entry(target, prefix=AS_NOBODY)
        self.assertFalse(entry["profilable"])
        self.assertIn("PR_SET_DUMPABLE", entry["reason"])

    def test_leaves_nothing_behind(self):
        target = self.target()
        mark = f"PP_MARK_OF_TEST={os.getpid()}"
        os.environ.update([mark.split("=")])
        self.addCleanup(os.environ.pop, mark.split("=")[0])
        self.say("ps")
        self.assertEqual(harm(target.pid), [])
        self.assertEqual([pid for pid in os.listdir("/proc") if pid.isdigit() and self.has_variable(pid, mark)], [])

    @staticmethod
    def has_variable(pid, variable):
        try:
            return variable.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False


class Doctor(Inspecting):
    def test_the_node(self):
        checks = self.checks()
        for subject in ("memory-reading", "ptrace", "yama", "capabilities", "seccomp", "user-namespace",
                        "pid-namespace", "lsm", "procfs", "cuda"):
            self.assertIn(subject, checks)
        self.assertEqual(checks["memory-reading"]["verdict"], "ok")
        self.assertEqual(checks["seccomp"]["verdict"], "ok", "our own filter is not taken for somebody's")
        text = self.say("doctor")
        self.assertTrue(text.startswith("This node\n"))
        self.assertIn("Profiling works on this node", text)

    def test_a_process_that_can_be_profiled(self):
        target = self.target()
        checks = self.checks(target.pid)
        for subject in ("access", "interpreter-layout", "tracer", "thread-states", "gpu-libraries", "gpu"):
            self.assertEqual(checks[subject]["verdict"], "ok", checks[subject])
        self.assertIn("CPython 3.", checks["interpreter-layout"]["cause"])
        self.assertIn(f"\nProcess {target.pid}\n", self.say("doctor", "--pid", target.pid))
        self.assertEqual(harm(target.pid), [])

    def test_no_such_process(self):
        ended = subprocess.Popen(["true"])
        ended.wait(DEADLINE)
        self.assertRefused(self.checks(ended.pid, status=3)["process"], "there is no process", "pgrep")
        self.refuse(2, "doctor", "--pid", "x")
        self.refuse(2, "doctor", "--pid", "0")

    def test_what_is_no_python(self):
        self.assertRefused(self.checks(self.sleeper().pid, status=5)["interpreter-layout"], "is not a Python process")

    def test_a_version_that_we_cannot_read(self):
        old = next((path for path in glob.glob(os.path.expanduser("~/.pyenv/versions/3.7*/bin/python3"))), None)
        if old is None:
            self.skipTest("no CPython 3.7 here")
        target = self.target(python=old)
        self.assertRefused(self.checks(target.pid, status=5)["interpreter-layout"], "CPython 3.7")
        self.assertIn("CPython 3.7", self.entry(target)["reason"])

    def test_a_thread_and_a_zombie(self):
        target = self.target(WAIT.format(", threading; threading.Thread(target=sys.stdin.read, daemon=True).start()"))
        thread = max(int(tid) for tid in os.listdir(f"/proc/{target.pid}/task"))
        self.assertRefused(self.checks(thread, status=2)["process"], "is a thread of process", f"--pid {target.pid}")
        os.kill(target.pid, signal.SIGKILL)
        os.waitid(os.P_PID, target.pid, os.WEXITED | os.WNOWAIT)
        self.assertRefused(self.checks(target.pid, status=5)["process"], "zombie")

    def test_a_thread_of_the_kernel(self):
        if not os.path.exists("/proc/2/comm") or pathlib.Path("/proc/2/comm").read_text() != "kthreadd\n":
            self.skipTest("kernel threads are not visible here")
        self.assertRefused(self.checks(2, status=2)["process"], "is a kernel thread")

    @needs_root
    def test_that_of_another_user(self):
        check = self.checks(self.target().pid, prefix=AS_NOBODY, status=4)
        self.assertRefused(check["owner"], "belongs to root, but ptrace-prof runs as nobody", "sudo")
        node = self.checks(prefix=AS_NOBODY)
        self.assertEqual(node["capabilities"]["verdict"], "limited")

    @needs_root
    def test_one_that_is_protected_from_its_user(self):
        target = self.target(UNDUMPABLE, prefix=AS_NOBODY)
        self.assertRefused(self.checks(target.pid, prefix=AS_NOBODY, status=4)["not-dumpable"], "PR_SET_DUMPABLE", "sudo")
        self.assertEqual(self.checks(target.pid)["access"]["verdict"], "ok")

    @needs_root
    def test_root_without_the_right(self):
        bare = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")
        checks = self.checks(prefix=bare)
        self.assertEqual(checks["capabilities"]["verdict"], "limited")
        self.assertIn("root without CAP_SYS_PTRACE", checks["capabilities"]["cause"])
        theirs, roots = self.target(SET_RANK, prefix=AS_NOBODY), self.target()
        rows = self.listed(prefix=bare)
        self.assertTrue(rows[theirs.pid]["profilable"], "by becoming its owner")
        self.assertEqual(rows[theirs.pid]["rank"], 3)
        self.assertEqual(self.checks(theirs.pid, prefix=bare)["access"]["verdict"], "ok")
        self.assertFalse(rows[roots.pid]["profilable"])
        self.assertRefused(self.checks(roots.pid, prefix=bare, status=4)["capabilities"], "that ptrace-prof lacks")


@unittest.skipUnless(os.access(daemon.BINARY, os.X_OK), "ptrace-profd is not built")
class ThroughADaemon(Inspecting):
    """The same questions to ptrace-profd must have the same answers."""

    def setUp(self):
        super().setUp()
        place = daemon.Place()
        self.addCleanup(place.close)
        self.addCleanup(daemon.Daemon(place).close)
        self.hosts = ("none", place.address)

    def both(self, *arguments, status=0):
        direct, asked = (json.loads(self.say(*arguments, "--json", "--host", host, status=status)) for host in self.hosts)
        return direct, asked

    def test_ps(self):
        pids = {self.target(SET_RANK, env={"SLURM_JOB_ID": "7"}).pid, self.target(arguments=["--x"]).pid}
        if os.geteuid() == 0:
            pids.add(self.target(prefix=AS_NOBODY).pid)
        direct, asked = ({row["pid"]: row for row in rows if row["pid"] in pids} for rows in self.both("ps"))
        self.assertEqual(direct, asked)
        self.assertEqual(direct.keys(), pids)
        self.assertTrue(all(row["profilable"] for row in direct.values()))

    def test_doctor(self):
        sleeper = self.sleeper()
        ended = subprocess.Popen(["true"])
        ended.wait(DEADLINE)
        cases = [(self.target().pid, 0), (sleeper.pid, 5), (ended.pid, 3)]
        if os.geteuid() == 0:
            cases.append((self.target(prefix=AS_NOBODY).pid, 0))
        for pid, status in cases:
            with self.subTest(status):
                direct, asked = self.both("doctor", "--pid", pid, status=status)
                self.assertEqual(*([check for check in checks["checks"] if check["about"] == "process"]
                                   for checks in (direct, asked)))
                self.assertEqual(direct["result"], asked["result"])
                self.assertEqual([check["subject"] for check in direct["checks"]],
                                 [check["subject"] for check in asked["checks"]])


if __name__ == "__main__":
    main()

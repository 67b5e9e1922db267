"""The way into a target and out of it again, many times over. The target works as it would have, and nothing is left.

Runs inject_driver (tests/programs), which brings the stub in, arms it, reads events, and has it leave.
"""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case  # noqa: E402
from support.target_process import DEADLINE, TargetProcess, harm, status_fields  # noqa: E402

DRIVER = os.environ["PP_INJECT_DRIVER"]
ROUNDS = int(os.environ.get("PTRACE_PROF_INJECTIONS", "20"))
KILLS = int(os.environ.get("PTRACE_PROF_KILLS", "15"))
SEED = int(os.environ.get("PTRACE_PROF_SEED", "20261121"))
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
WITHOUT_PROC = """
import os
os.write(int(os.environ["PP_PACT_FD"]), b"ready")
while True: sum(range(1000))
"""


def drive(pid, *options, by=()):
    command = [*by, DRIVER, *map(str, options), str(pid)]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)


def stub_files(pid):
    """The memfds of ours among the open files of a process."""
    found = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        try:
            link = os.readlink(f"/proc/{pid}/fd/{number}")
        except FileNotFoundError:
            continue
        if "memfd:ptrace-prof" in link:
            found.append(link)
    return found


class InjectCase(case.Case):
    def assertNoFiles(self, pid, word="ptrace-prof"):
        """The stub reports that it has left, then it closes its memfd."""
        deadline = time.monotonic() + DEADLINE
        while left := [name for name in stub_files(pid) if word in name]:
            self.assertLess(time.monotonic(), deadline, left)
            time.sleep(0.001)

    def hooks(self, target):
        target.tell("hooks")
        return target.expect("hooks").text

    def assertEndsWell(self, target):
        self.assertUnharmed(target.pid)
        self.assertNoFiles(target.pid)
        target.tell("ping")
        target.expect("pong")
        self.assertEqual(target.finish(), 0, target.stderr())
        self.assertEqual(target.stdout(), "ended well\n")
        self.assertEqual(target.stderr(), "")

    def assertWentWell(self, done, rounds):
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([line.split()[0] for line in lines], ["ok"] * rounds)


class Inject(InjectCase):
    def check(self, mode, interpreter=None, rounds=ROUNDS):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        target = self.start("injectable.py", mode, interpreter=interpreter, env={"TMPDIR": temporary.name})
        before = self.hooks(target)
        self.assertWentWell(drive(target.pid, "--count", rounds, "--events", 100), rounds)
        self.assertEqual(self.hooks(target), before)
        self.assertNoFiles(target.pid)
        self.assertEqual(os.listdir(temporary.name), [])
        self.assertEndsWell(target)

    def test_busy(self):
        for interpreter in self.interpreters:
            with self.subTest(str(interpreter)):
                self.check("busy", interpreter)

    def test_eight_threads(self):
        self.check("threads")

    def test_event_loop(self):
        self.check("asyncio")

    def enter_while_handlers_raise(self, kind, *options):
        target = self.start("injectable.py", "alarms", kind)
        # An entry that the handler interrupts is tried again a few times. On a busy machine the handler may win each
        # time.
        if any(drive(target.pid, *options).returncode == 0 for _ in range(5)):
            self.assertEndsWell(target)
        else:  # the reason of an end is more useful than the fact
            self.fail((target.finish(), target.stderr()) if harm(target.pid) else "its handler was quicker each time")

    def test_handlers_that_cut_texts_short(self):
        """A handler interrupts one in four of the texts that load the stub into such a job. Retries get in."""
        for _ in range(10):
            target = self.start("injectable.py", "alarms")
            self.assertWentWell(drive(target.pid, "--count", "1"), 1)
            self.assertEndsWell(target)

    def test_handlers_that_raise(self):
        """Each exception of a handler is raised in the job once, whichever code of ours was running."""
        for kind in ("function", "method", "partial", "object"):
            with self.subTest(kind):
                self.enter_while_handlers_raise(kind)

    def test_handlers_that_raise_in_the_frame_hook(self):
        if self.interpreters[0].numbers >= (3, 12):
            self.skipTest("no frame hook")
        for _ in range(5):
            self.enter_while_handlers_raise("function", "--by", "frame hook")

    def test_forking(self):
        self.check("forks")

    def test_main_waits_and_workers_work(self):
        self.check("sleeping")

    def test_what_killed_collectors_left_is_closed_on_both_ways_in(self):
        target = self.start("injectable.py", "threads")
        for _ in ("delivered", "resident"):
            target.tell("strays")
            target.expect("pong")
            self.assertEqual(len(stub_files(target.pid)), 6)
            self.assertWentWell(drive(target.pid, "--events", 10), 1)
            self.assertNoFiles(target.pid)
        self.assertEndsWell(target)

    def test_everybody_waits(self):
        target = self.start_waiting("injectable.py", "idle")
        done = drive(target.pid, "--timeout-ms", 300)
        self.assertTrue(done.stdout.startswith("error DEADLINE_EXCEEDED TARGET_IDLE"), done.stdout)
        self.assertEndsWell(target)


class Confined(InjectCase):
    def start_in(self, preparation):
        """Starts a target in namespaces of its own, after `preparation`, which is shell code."""
        if os.geteuid() != 0:
            self.skipTest("only root can do that to a target")
        interpreter = next((one for one in self.interpreters if not one.in_root), None)
        if interpreter is None:
            self.skipTest("the only interpreter of this version is in a root file system")
        script = f'mount --make-rprivate / && mount -t proc proc /proc && {preparation} && exec "$@"'
        return self.start("injectable.py", "threads", interpreter=interpreter, python="unshare",
                          options=("--mount", "--pid", "--net", "--fork", "--kill-child=SIGKILL", "sh", "-c", script, "sh",
                                   interpreter.path))

    def test_no_folder_may_be_written_or_run_from(self):
        target = self.start_in("for place in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o ro,noexec tmpfs $place; done"
                               " && mount -o remount,bind,ro /")
        self.assertWentWell(drive(target.pid, "--count", 5, "--events", 100), 5)
        self.assertEndsWell(target)

    def test_no_memfd_may_be_executable(self):
        if not os.path.exists("/proc/sys/vm/memfd_noexec"):
            self.skipTest("Linux 6.3 has vm.memfd_noexec, this one has not")
        target = self.start_in("echo 2 > /proc/sys/vm/memfd_noexec")
        self.assertWentWell(drive(target.pid, "--count", 5, "--events", 100), 5)
        self.assertEndsWell(target)

    def test_a_job_that_may_make_no_memfd(self):
        """The target's own system call filter, as sandboxes have one, refuses the stub; nothing is left."""
        target = self.start("no_memfd.py", "fails")
        for insisting in ((), ("--force",)):
            done = drive(target.pid, "--timeout-ms", 3000, *insisting)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stdout.startswith("error FAILED_PRECONDITION TRACER_NOT_LOADED"), done.stdout)
        self.assertUnharmed(target.pid)
        self.assertNoFiles(target.pid)
        self.assertEqual((target.finish(), target.stderr()), (0, ""))

    def test_a_job_that_dies_of_making_a_memfd(self):
        if self.interpreter.in_root:
            self.skipTest("the first process of its PID namespace has its filter from who made that, as it seems")
        target = self.start("no_memfd.py", "kills")
        done = drive(target.pid, "--timeout-ms", 3000)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stdout.startswith("error FAILED_PRECONDITION TRACER_NOT_LOADED"), done.stdout)
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stderr()), (0, ""))


class Refusals(InjectCase):
    def refused(self, target, code, words):
        done = drive(target.pid, "--timeout-ms", 2000)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"error {code}", done.stdout)
        self.assertIn(words, done.stdout)

    def test_stopped(self):
        target = self.start("injectable.py", "busy")
        target.signal(signal.SIGSTOP)
        deadline = time.monotonic() + DEADLINE
        while status_fields(target.pid)["State"][0] != "T" and time.monotonic() < deadline:
            time.sleep(0.001)
        self.refused(target, "FAILED_PRECONDITION TARGET_STOPPED", "is stopped")
        target.signal(signal.SIGCONT)
        self.assertEndsWell(target)

    def test_remote_debugging_disabled(self):
        if self.interpreter.numbers[:2] < (3, 14):
            self.skipTest("nobody can disable it there")
        target = self.start("injectable.py", "busy", options=["-X", "disable-remote-debug"])
        self.refused(target, "FAILED_PRECONDITION REMOTE_DEBUG_DISABLED", "with remote debugging disabled")
        self.assertWentWell(drive(target.pid, "--force"), 1)
        self.assertEndsWell(target)

    def test_second_collector(self):
        target = self.start("injectable.py", "busy")
        first = subprocess.Popen([DRIVER, "--wait", "--no-leave", str(target.pid)], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(first.communicate)
        self.assertTrue(first.stdout.readline().startswith("ok"))
        self.refused(target, "ALREADY_EXISTS BEING_TRACED", f"by process {first.pid}")
        first.communicate("")
        self.assertWentWell(drive(target.pid), 1)  # the stub that stayed behind is asked to leave
        self.assertEndsWell(target)


class Scripts(InjectCase):
    """3.14 and later: through a script that the threads are asked to run (PEP 768), in the target's temporary
    directory."""

    def setUp(self):
        if self.interpreter.numbers[:2] < (3, 14):
            self.skipTest("its threads cannot be asked")
        temporary = tempfile.TemporaryDirectory(dir=f"{self.interpreter.root}/tmp")
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.as_it_sees_it = self.folder[len(self.interpreter.root):]

    def start_here(self, script, *arguments, start=None, **options):
        return (start or self.start)(script, *arguments, env={"TMPDIR": self.as_it_sees_it}, **options)

    def check(self, mode, *options):
        target = self.start_here("injectable.py", mode)
        done = drive(target.pid, "--by", "script", "--count", ROUNDS, "--events", 100, *options)
        self.assertWentWell(done, ROUNDS)
        self.assertEqual({line.split()[1] for line in done.stdout.splitlines()}, {"script"})
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEndsWell(target)

    def test_busy(self):
        self.check("busy")

    def test_eight_threads_of_which_one_does_it(self):
        self.check("threads")

    def test_event_loop(self):
        self.check("asyncio")

    def test_forking(self):
        self.check("forks")

    def test_main_waits_and_workers_work(self):
        self.check("sleeping")

    def test_without_a_queue_that_we_know(self):
        target = self.start_here("injectable.py", "threads")
        done = drive(target.pid, "--without-queue", "--count", 5, "--events", 100)
        self.assertWentWell(done, 5)
        self.assertEqual({line.split()[1] for line in done.stdout.splitlines()}, {"script"})
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEndsWell(target)

    def test_everybody_waits(self):
        target = self.start_here("injectable.py", "idle", start=self.start_waiting)
        done = drive(target.pid, "--by", "script", "--timeout-ms", 300)
        self.assertTrue(done.stdout.startswith("error DEADLINE_EXCEEDED TARGET_IDLE"), done.stdout)
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEndsWell(target)

    def test_audit_hooks_see_it(self):
        target = self.start_here("audited.py")
        self.assertWentWell(drive(target.pid, "--by", "script"), 1)
        target.tell("look")
        seen = target.expect("seen").text.split()[1:]
        self.assertEqual(len(seen), 2, seen)  # one script makes the memfd, one loads what is in it
        self.assertTrue(all(path.startswith(self.as_it_sees_it + "/ptrace-prof.") for path in seen), seen)
        self.assertEqual(target.finish(), 0, target.stderr())
        self.assertEqual(target.stderr(), "")

    def test_disabled_it_is_no_way_in(self):
        target = self.start_here("injectable.py", "busy", options=["-X", "disable-remote-debug"])
        for options, reason in (((), "REMOTE_DEBUG_DISABLED"), (("--force",), "NOT_YET")):
            done = drive(target.pid, "--by", "script", *options)
            self.assertIn(reason, done.stdout)
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEndsWell(target)

    def test_killed_at_random_moments(self):
        target = self.start_here("injectable.py", "threads")
        moments = random.Random(SEED)
        for _ in range(KILLS):
            run = subprocess.Popen([DRIVER, "--by", "script", "--count", "3", "--events", "50", str(target.pid)],
                                   stdout=subprocess.DEVNULL)
            try:
                run.wait(moments.uniform(0, 0.25))
            except subprocess.TimeoutExpired:
                run.kill()
            run.wait()
            target.tell("ping")
            target.expect("pong")
        self.assertWentWell(drive(target.pid, "--by", "script", "--count", 2, "--events", 50), 2)
        self.assertEqual(os.listdir(self.folder), [])
        self.assertNoFiles(target.pid, "stub")
        self.assertUnharmed(target.pid)
        self.assertEqual(target.stderr(), "")


class Roots(InjectCase):
    """Targets in other root file systems, mount and PID namespaces (the harness mounts /proc there)."""

    def test_events_of_a_root(self):
        for interpreter in (one for one in self.interpreters if one.in_root):
            for mode in ("threads", "asyncio"):  # asyncio: other libraries, other room for a text
                with self.subTest(str(interpreter), mode=mode):
                    target = self.start("injectable.py", mode, interpreter=interpreter)
                    self.assertWentWell(drive(target.pid, "--count", 5, "--events", 1000), 5)
                    self.assertEndsWell(target)

    def test_root_without_proc(self):
        root = next((one for one in self.interpreters if one.in_root), None)
        if root is None:
            self.skipTest("no root file system of this version")
        target = TargetProcess(shutil.which("chroot") or "/usr/sbin/chroot", None,
                               (root.root, root.path, "-c", WITHOUT_PROC))
        self.addCleanup(target.close)
        done = drive(target.pid)
        self.assertTrue(done.stdout.startswith("error FAILED_PRECONDITION NO_PROC_IN_TARGET"), done.stdout)
        self.assertIn("has no /proc in its root directory", done.stdout)
        self.assertUnharmed(target.pid)


class Killed(InjectCase):
    def kill_some(self, mode, longest=0.25):
        target = self.start("injectable.py", mode)
        moments = random.Random(SEED)
        for _ in range(KILLS):
            run = subprocess.Popen([DRIVER, "--count", "3", "--events", "50", str(target.pid)],
                                   stdout=subprocess.DEVNULL)
            try:
                run.wait(moments.uniform(0, longest))
            except subprocess.TimeoutExpired:
                run.kill()
            run.wait()
            target.tell("ping")
            target.expect("pong")
        return target

    def check(self, mode):
        target = self.kill_some(mode)
        self.assertWentWell(drive(target.pid, "--count", 2, "--events", 50), 2)
        self.assertNoFiles(target.pid, "stub")
        self.assertUnharmed(target.pid)

    def test_at_random_moments(self):
        self.check("threads")

    def test_while_main_waits(self):
        self.check("sleeping")

    def test_while_handlers_raise(self):
        target = self.kill_some("alarms", longest=0.02)  # most of them on the way in
        if any(drive(target.pid).returncode == 0 for _ in range(10)):
            self.assertEndsWell(target)
        else:  # each time the handler was quicker
            self.assertUnharmed(target.pid)


class OtherUser(InjectCase):
    def test_nobody(self):
        if os.geteuid() != 0:
            self.skipTest("only root may become somebody else")
        world = next((one for one in self.interpreters if one.kind == "system"), None)
        if world is None:
            self.skipTest("no interpreter that everybody may run")
        if subprocess.run([*NOBODY, "test", "-x", DRIVER], check=False).returncode != 0:
            self.skipTest(f"other users may not pass the folders of {DRIVER}")
        target = self.start("injectable.py", "busy", interpreter=world, python=NOBODY[0],
                            options=(*NOBODY[1:], world.path))
        self.assertWentWell(drive(target.pid, "--events", 10, by=NOBODY), 1)
        self.assertWentWell(drive(target.pid, "--count", 3, "--events", 10), 3)
        self.assertEndsWell(target)


if __name__ == "__main__":
    case.main()

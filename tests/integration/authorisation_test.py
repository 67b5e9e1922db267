"""Which callers may profile which targets through a daemon for all users: as the kernel decides, for every kind of
both.

Each caller asks the kernel, and the daemon about the same processes. Both answers must be the same.
"""
import contextlib
import ctypes
import errno
import json
import os
import pathlib
import platform
import re
import socket
import stat
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, case, yama  # noqa: E402
from support.call_stops import CallStops  # noqa: E402
from support.chosen_pid import Sleeper  # noqa: E402
from support.daemon import Daemon, Place, children, within_deadline  # noqa: E402
from support.target_process import harm, status_fields  # noqa: E402

DENIED = ("PERMISSION_DENIED", "UNAUTHENTICATED")


class AuthorisationCase(case.Case):
    """A daemon and targets of every kind. SCOPE: the value of kernel.yama.ptrace_scope that the daemon and all that it
    starts see and obey; None: the machine's own value."""
    SCOPE, POLICY = None, ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with contextlib.ExitStack() as stack:
            cls.place = Place()
            stack.callback(cls.place.close)
            os.chmod(cls.place.folder, 0o755)
            root = cls.place.folder / "root"
            root.mkdir()
            yama.set_real(cls.SCOPE or 0)
            stack.callback(yama.set_real, 0)
            cls.audit, policy = cls.place.folder / "audit.log", cls.place.folder / "policy.toml"
            policy.write_text(cls.POLICY)
            os.chmod(policy, 0o644)
            cls.daemon = Daemon(cls.place, "--multi-user", "--audit", cls.audit, "--socket", cls.place.socket, "--spool",
                                cls.place.spool, "--policy", policy, prefix=() if cls.SCOPE is None else yama.prefix(cls.SCOPE))
            stack.callback(cls.daemon.close)
            cls.callers = access_cases.callers(root)
            cls.targets = {}
            for what, (prefix, interpreter, action) in access_cases.targets(cls.place.folder).items():
                cls.targets[what] = access_cases.AccessTarget(prefix, interpreter, action)
                stack.callback(cls.targets[what].close)
            cls.addClassCleanup(stack.pop_all().close)

    def ask(self, prefix, pids):
        """[(whether the daemon lets such a caller read it, the daemon's answer)]"""
        probe = self.daemon.probe("ask", *pids, prefix=prefix)
        self.addCleanup(probe.close)
        lines = probe.end()
        self.assertEqual([line.split()[1] for line in lines], [str(pid) for pid in pids], lines)
        return [(line.startswith("allowed"), line) for line in lines]

    def compare(self):
        """Compares the daemon's answers with the kernel's. Yama does not apply to the callers that ask the kernel here.
        """
        pids = [target.pid for target in self.targets.values()]
        pairs = allowed = 0
        for who, prefix in self.callers.items():
            yama.set_real(0)
            truth = access_cases.kernel_allows(prefix, pids)
            yama.set_real(self.SCOPE or 0)
            for what, kernel, (daemon, words) in zip(self.targets, truth, self.ask(prefix, pids)):
                with self.subTest(caller=who, target=what):
                    self.assertEqual(daemon, kernel, words)
                    if not daemon:
                        self.assertIn(words.split()[2], DENIED)
                pairs, allowed = pairs + 1, allowed + kernel
        print(f"authorisation, {type(self).__name__}: {pairs} pairs, {allowed} of them allowed by the kernel", file=sys.stderr)
        self.assertGreaterEqual(pairs, 40)
        self.assertGreaterEqual(allowed, 20)
        for what, target in self.targets.items():
            with self.subTest(what):
                self.assertEqual(harm(target.pid), [])

    def recorded(self, script, until=None):
        """The trace of a process of alice's that runs this script. Once it is being recorded it is sent "go", and it
        answers. The process is ended once `until` is in the trace; None: the recording ends by itself."""
        target = subprocess.Popen([*self.callers["alice"], access_cases.PYTHON, "-I", "-S", "-c", script],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for end in (target.stdout.close, target.stdin.close, target.wait, target.kill):
            self.addCleanup(end)
        self.assertEqual(target.stdout.readline(), "ready\n")
        trace = self.place.folder / f"{self.id()}.pftrace"
        trace.touch()
        os.chown(trace, access_cases.ALICE, access_cases.ALICE)
        probe = self.daemon.probe("record", target.pid, 1000, trace, prefix=self.callers["alice"])
        self.addCleanup(probe.close)
        self.assertTrue(probe.hear("STATE_RUNNING"), probe.lines)
        self.while_recording(target.pid)
        target.stdin.write("go\n")
        target.stdin.flush()
        self.assertEqual(target.stdout.readline(), "there\n")
        if until:
            self.assertTrue(within_deadline(lambda: until in trace.read_bytes()))
            self.assertEqual(harm(target.pid), [])
            target.kill()
        probe.end()
        return trace.read_bytes()

    def while_recording(self, target):
        pass

    def exec_set_user_id(self):
        program, after = self.place.folder / "suid-root", self.place.folder / "after.py"
        after.write_text("def secret():\n  print('there', flush=True)\n  while True: pass\nsecret()\n")
        return self.recorded("import os, sys\ndef before():\n  print('ready', flush=True); sys.stdin.readline()\nbefore()\n"
                             f"os.execv('{program}', ['x', '-I', '-S', '{after}'])")


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class Authorisation(AuthorisationCase):
    def test_the_daemon_answers_as_the_kernel(self):
        self.compare()

    def test_callers_that_mean_nothing_here(self):
        mine = self.targets["alice's"].pid
        for who, prefix, words in (("nobody", access_cases.as_user(65534), "UNAUTHENTICATED"),
                                   ("of another user namespace", self.callers["alice in a user namespace"],
                                    "UNAUTHENTICATED")):
            with self.subTest(who):
                (daemon, said), = self.ask(prefix, [mine])
                self.assertFalse(daemon)
                self.assertIn(words, said)

    def test_a_caller_in_a_pid_namespace_has_its_own_rights(self):
        prefix = (*access_cases.IN_PID_NAMESPACE, *access_cases.as_user(access_cases.ALICE))
        pids = [self.targets[what].pid for what in ("alice's", "bob's", "root's")]
        self.assertEqual([daemon for daemon, _ in self.ask(prefix, pids)], [True, False, False])

    def test_the_root_of_a_container_is_root_without_capabilities(self):
        """The caller has PID and mount namespaces of its own, and either the usual capabilities of containers or all of
        them, as containers may be given CAP_SYS_PTRACE for their own processes. (PIDs mean other processes in there, so
        the kernel is asked from outside, by a root without any capability.)"""
        fewer = "-sys_ptrace,-sys_admin,-dac_read_search,-perfmon,-checkpoint_restore"
        container = (*access_cases.IN_PID_NAMESPACE, "unshare", "--mount")
        pids = [target.pid for target in self.targets.values()]
        truth = access_cases.kernel_allows(self.callers["root without any capability"], pids)
        self.assertIn(False, truth)
        self.assertIn(True, truth)
        for which, prefix in (("usual", ("setpriv", f"--bounding-set={fewer}", f"--inh-caps={fewer}")), ("all", ())):
            for what, kernel, (daemon, words) in zip(self.targets, truth, self.ask((*container, *prefix), pids)):
                with self.subTest(capabilities=which, target=what):
                    self.assertEqual(daemon, kernel, words)

    def test_collectors_are_the_weaker_of_caller_and_owner(self):
        owner = str(access_cases.ALICE)
        for what, capabilities in (("alice's", 0), ("alice's, not dumpable", 1 << 19)):
            for who in ("root", "alice"):
                with self.subTest(caller=who, target=what):
                    waiting = self.daemon.probe("create", self.targets[what].pid, 1000, prefix=self.callers[who])
                    name = waiting.end()[-1].split()[1]
                    if (who, capabilities) != ("alice", 1 << 19):  # this one is refused, and ends at once
                        self.assertTrue(within_deadline(self.daemon.collectors))
                    for collector in self.daemon.collectors():
                        seen = status_fields(collector)
                        self.assertEqual(seen["Uid"].split(), [owner] * 4)
                        self.assertEqual(int(seen["CapPrm"], 16) & ~(capabilities if who == "root" else 0), 0)
                        self.assertEqual(seen["NoNewPrivs"], "1")
                    for verb in ("cancel", "watch", "delete"):
                        self.daemon.probe(verb, name).end()

    def test_what_is_kept_from_its_owner_is_sampled_not_traced(self):
        target = self.targets["alice's, not dumpable"].pid
        name = self.daemon.probe("create", f"trace:{target}", 1).end()[-1].split()[1]
        last = self.daemon.probe("watch", name).end()[-1]
        self.assertIn("STATE_FAILED", last)
        self.assertIn("is protected from its own user", last)
        self.daemon.probe("delete", name).end()

    def test_traces_are_their_owners(self):
        alice, bob = self.callers["alice"], self.callers["bob"]
        created = self.daemon.probe("create", self.targets["alice's"].pid, 1000, prefix=alice).end()[-1]
        name = created.split()[1]
        for verb in ("watch", "cancel", "delete"):
            said = self.daemon.probe(verb, name, prefix=bob).end()[-1]
            self.assertTrue(said.startswith("error NOT_FOUND"), said)
        self.assertEqual(self.daemon.probe("list", prefix=bob).end(), [])
        self.assertIn(name, self.daemon.probe("list", prefix=alice).end()[-1])
        for verb in ("cancel", "watch", "delete"):
            self.daemon.probe(verb, name, prefix=alice).end()

    def audited(self, uid, pid):
        """The audit's entries about this caller and this target, in order of time; None: entries about connecting."""
        entries = [json.loads(line) for line in self.audit.read_text().splitlines()]
        return [(entry["outcome"], entry.get("reason")) for entry in entries
                if entry["uid"] == uid and entry.get("target") == pid]

    def test_decisions_are_audited(self):
        seen = self.audit.stat()
        self.assertEqual((stat.S_IMODE(seen.st_mode), seen.st_uid), (0o600, 0))
        mine, of_bob = self.targets["alice's"].pid, self.targets["bob's"].pid
        alice = self.callers["alice"]
        before = [len(self.audited(access_cases.ALICE, pid)) for pid in (mine, of_bob)]
        self.assertEqual([daemon for daemon, _ in self.ask(alice, [mine, of_bob])], [True, False])
        for pid, known, outcome in ((mine, before[0], ("allowed", None)),
                                    (of_bob, before[1], ("refused", "CALLER_UID_MISMATCH"))):
            within_deadline(lambda: len(self.audited(access_cases.ALICE, pid)) >= known + 2)  # noqa: B023
            self.assertEqual(self.audited(access_cases.ALICE, pid)[known:], [("started", None), outcome])
        self.ask(access_cases.as_user(65534), [mine])
        self.assertIn(("refused", "UNAUTHENTICATED"), self.audited(65534, None))

    def test_a_set_user_id_program_is_not_read_after_an_exec(self):
        trace = self.exec_set_user_id()
        self.assertIn(b"before", trace)
        self.assertNotIn(b"secret", trace)


WAIVE = 'yama = "waive"\n'
CAPSET, OPENAT, SENDMSG = {"x86_64": (126, 257, 46), "aarch64": (91, 56, 211)}.get(platform.machine(), (None,) * 3)
PIDFD_GETFD = 438


def line_of(collector):
    """A duplicate of the collector's end of its connection to the memory grantor."""
    number = re.search(rb"memory_line=(\d+)", pathlib.Path(f"/proc/{collector}/cmdline").read_bytes())[1]
    pidfd = os.pidfd_open(collector)
    try:
        line = ctypes.CDLL(None).syscall(PIDFD_GETFD, pidfd, int(number), 0)
    finally:
        os.close(pidfd)
    return socket.socket(fileno=line)


def ask(line, pid):
    line.send(struct.pack("<Qii", 1, pid, 0))


def granted(line, pid):
    """0, or the errno of the refusal."""
    ask(line, pid)
    return answer(line)


def answer(line):
    said, descriptors, _, _ = socket.recv_fds(line, 16, 1)
    for descriptor in descriptors:
        os.close(descriptor)
    refused = struct.unpack("<Qii", said)[1]
    assert bool(descriptors) == (refused == 0), said
    return refused


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class YamaWaived(AuthorisationCase):
    """The daemon must answer what the kernel would with the scope at 0 (as it does to callers here), and allow nothing
    more."""
    SCOPE, POLICY = 1, WAIVE

    def test_the_daemon_answers_as_the_kernel_would_without_yama(self):
        self.compare()

    def grantors(self):
        return [pid for pid in children(self.daemon.launcher) if status_fields(pid)["Name"] == "ptrace-prof-mem"]

    def while_recording(self, target):
        """Among the processes that run for alice then, only the memory grantor has a capability, which is permitted but
        not effective."""
        grantor, = self.grantors()
        collector, = self.daemon.collectors()
        for pid, permitted in ((grantor, 1 << 19), (collector, 0)):
            seen = status_fields(pid)
            self.assertEqual(seen["Uid"].split(), [str(access_cases.ALICE)] * 4)
            self.assertEqual([int(seen[which], 16) for which in ("CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb")],
                             [permitted, 0, 0, 0, 0])
            self.assertEqual((seen["NoNewPrivs"], seen["Seccomp"]), ("1", "2"))
        self.assertEqual(status_fields(target)["TracerPid"], "0")

    def tearDown(self):
        self.assertTrue(within_deadline(lambda: self.grantors() == []), "each has ended with its collector")

    def test_a_process_is_sampled_and_its_children_too(self):
        script = ("import ctypes, os, sys\ndef spin():\n  while True: pass\ndef in_child():\n  ctypes.CDLL(None).prctl(1, 9)\n  print('there', flush=True); spin()\n"
                  "def in_parent():\n  print('ready', flush=True); sys.stdin.readline()\n  if os.fork() == 0: in_child()\n"
                  "  try: os.wait()\n  finally: os._exit(0)\nin_parent()")
        trace = self.recorded(script, b"in_child")
        for name in (b"in_parent", b"in_child"):
            self.assertIn(name, trace)

    def test_a_set_user_id_program_is_not_read_after_an_exec(self):
        trace = self.exec_set_user_id()
        self.assertIn(b"before", trace)
        self.assertNotIn(b"secret", trace)

    def test_another_program_of_the_same_user_is(self):
        after = self.place.folder / "mine.py"
        after.write_text("def not_secret():\n  print('there', flush=True)\n  while True: pass\nnot_secret()\n")
        trace = self.recorded("import os, sys\ndef before():\n  print('ready', flush=True); sys.stdin.readline()\nbefore()\n"
                              f"os.execv('{access_cases.PYTHON}', ['x', '-I', '-S', '{after}'])", b"not_secret")
        self.assertIn(b"before", trace)
        self.assertIn(b"not_secret", trace)

    def test_who_shuts_itself_off_meanwhile_is_not_read_any_more(self):
        after = self.place.folder / "off.py"  # a file, because the command line is in the trace
        after.write_text("def secret():\n  print('there', flush=True)\n  while True: pass\n")
        trace = self.recorded("import ctypes, sys\nprctl = ctypes.CDLL(None).prctl\ndef before():\n  print('ready', flush=True)\n"
                              f"  sys.stdin.readline()\nbefore()\nprctl(4, 0, 0, 0, 0)\ncode = open('{after}').read()\n"
                              "exec(code + code[4:10] + '()')")
        self.assertIn(b"before", trace)
        self.assertNotIn(b"secret", trace)

    @unittest.skipIf(yama.REAL, "user-mode Linux does not tell which system call a process is at")
    def test_who_is_another_process_while_it_is_opened_is_not(self):
        """Stops the memory grantor at its system calls. Meanwhile the target's PID is taken over by a process that
        alice may not read, and later by one that she may."""
        swaps = [(CAPSET, access_cases.ALICE), (OPENAT, access_cases.OTHER_GROUP), (CAPSET, access_cases.ALICE)]
        with self.capture() as (grantor, collector), line_of(collector) as line, \
                contextlib.closing(Sleeper(access_cases.ALICE)) as mine:
            pid = mine.pid
            self.assertEqual(granted(line, pid), 0)
            with CallStops(grantor) as calls:
                ask(line, pid)
                for call in calls:
                    if swaps and call == swaps[0][0]:
                        mine.become(swaps.pop(0)[1])
                    elif call == SENDMSG:
                        break
            self.assertEqual((answer(line), swaps), (errno.ESRCH, []))

    @contextlib.contextmanager
    def capture(self):
        """A running capture of alice's: its memory grantor, and its collector, which has no more requests to make."""
        alice = self.callers["alice"]
        name = self.daemon.probe("create", self.targets[MINE].pid, 1000, prefix=alice).end()[-1].split()[1]
        watching = self.daemon.probe("watch", name, prefix=alice)
        try:
            self.assertTrue(watching.hear("STATE_RUNNING"), watching.lines)
            (grantor,), (collector,) = self.grantors(), self.daemon.collectors()
            yield grantor, collector
        finally:
            self.daemon.probe("cancel", name, prefix=alice).end()
            watching.end()
            self.daemon.probe("delete", name, prefix=alice).end()

    def test_what_is_waived_is_reading(self):
        said = self.daemon.probe("create", f"trace:{self.targets[MINE].pid}", 1, prefix=self.callers["alice"]).end()
        name = said[-1].split()[1]
        ended = self.daemon.probe("watch", name, prefix=self.callers["alice"]).end()[-1]
        self.assertIn("kernel.yama.ptrace_scope is 1", ended)
        self.daemon.probe("delete", name, prefix=self.callers["alice"]).end()


MINE = "alice's"


class _Refused(AuthorisationCase):
    def test_users_are_refused_and_root_is_not(self):
        mine = self.targets[MINE].pid
        (allowed, words), = self.ask(self.callers["alice"], [mine])
        self.assertFalse(allowed, words)
        self.assertIn("YAMA_DENIED", words)
        self.assertEqual([daemon for daemon, _ in self.ask((), [mine])], [True])


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class YamaObeyed(_Refused):
    SCOPE = 1

    def roots_collector(self, target):
        """The permitted capabilities of the collector of a capture of root's, and the trace of that capture."""
        name = self.daemon.probe("create", target, 1000).end()[-1].split()[1]
        watching, trace = self.daemon.probe("watch", name), self.place.folder / "trace"
        self.assertTrue(watching.hear("STATE_RUNNING"), watching.lines)
        collector, = self.daemon.collectors()
        permitted = int(status_fields(collector)["CapPrm"], 16)
        self.daemon.probe("cancel", name).end()
        self.assertIn("STATE_CANCELLED", watching.end()[-1])
        self.daemon.probe("read", name, trace).end()
        self.daemon.probe("delete", name).end()
        self.assertTrue(within_deadline(lambda: self.daemon.collectors() == []))
        return permitted, trace.read_bytes()

    def test_a_collector_for_root_has_no_right_where_it_only_reads(self):
        """Another process has the capability, and opens what the owner may read."""
        for what, kept in (("alice's", 0), ("root's without capabilities", 0), ("alice's, not dumpable", 1 << 19),
                           ("root's", 1 << 19)):
            with self.subTest(what):
                permitted, trace = self.roots_collector(self.targets[what].pid)
                self.assertEqual(permitted, kept)
                self.assertIn(b"<module>", trace)
        permitted, _ = self.roots_collector(f"trace:{self.targets[MINE].pid}")
        self.assertEqual(permitted, 1 << 19, "a tracer's right cannot be handed over")

    def test_who_makes_scripts_for_a_target_has_no_right(self):
        """In a capture that traces calls, whose collector does have a capability."""
        name = self.daemon.probe("create", f"trace:{self.targets[MINE].pid}", 1000).end()[-1].split()[1]
        watching = self.daemon.probe("watch", name)
        self.assertTrue(watching.hear("STATE_RUNNING"), watching.lines)
        collector, = self.daemon.collectors()
        self.assertEqual(int(status_fields(collector)["CapPrm"], 16), 1 << 19)
        keeper, = (pid for pid in children(collector) if status_fields(pid)["Name"] == "ptrace-prof-kee")
        launchers = int(status_fields(self.daemon.launcher)["Seccomp_filters"])

        def has_no_right():
            seen = status_fields(keeper)
            return (seen["Uid"].split() == [str(access_cases.ALICE)] * 4 and int(seen["CapPrm"], 16) == int(seen["CapEff"], 16) == 0
                    and seen["NoNewPrivs"] == "1" and int(seen["Seccomp_filters"]) > launchers)

        self.assertTrue(within_deadline(has_no_right), status_fields(keeper))
        self.daemon.probe("cancel", name).end()
        watching.end()
        self.daemon.probe("delete", name).end()


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class AdministratorsOnly(_Refused):
    """Scope 2 cannot be waived."""
    SCOPE, POLICY = 2, WAIVE


del _Refused


if __name__ == "__main__":
    case.main()

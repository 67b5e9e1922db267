"""Who may profile whom through a daemon for all users: what the kernel says, for every kind of caller and target.

Each caller asks the kernel for itself, and the daemon about the same processes; the two answers must be one.
"""
import contextlib
import json
import os
import pathlib
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, case  # noqa: E402
from support.daemon import Daemon, Place, within_deadline  # noqa: E402
from support.target_process import harm, status_fields  # noqa: E402

DENIED = ("PERMISSION_DENIED", "UNAUTHENTICATED")


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class Authorisation(case.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with contextlib.ExitStack() as stack:
            cls.place = Place()
            stack.callback(cls.place.close)
            os.chmod(cls.place.folder, 0o755)
            root = cls.place.folder / "root"
            root.mkdir()
            cls.audit = cls.place.folder / "audit.log"
            cls.daemon = Daemon(cls.place, "--multi-user", "--audit", cls.audit, "--socket", cls.place.socket, "--spool",
                                cls.place.spool)
            stack.callback(cls.daemon.close)
            cls.callers = access_cases.callers(root)
            cls.targets = {}
            for what, (prefix, interpreter, action) in access_cases.targets(cls.place.folder).items():
                cls.targets[what] = access_cases.AccessTarget(prefix, interpreter, action)
                stack.callback(cls.targets[what].close)
            cls.addClassCleanup(stack.pop_all().close)

    def ask(self, prefix, pids):
        """[(whether the daemon lets such a caller read it, its words)]"""
        probe = self.daemon.probe("ask", *pids, prefix=prefix)
        self.addCleanup(probe.close)
        lines = probe.end()
        self.assertEqual([line.split()[1] for line in lines], [str(pid) for pid in pids], lines)
        return [(line.startswith("allowed"), line) for line in lines]

    def test_the_daemon_answers_as_the_kernel(self):
        pids = [target.pid for target in self.targets.values()]
        pairs = allowed = 0
        for who, prefix in self.callers.items():
            truth = access_cases.kernel_allows(prefix, pids)
            for what, kernel, (daemon, words) in zip(self.targets, truth, self.ask(prefix, pids)):
                with self.subTest(caller=who, target=what):
                    self.assertEqual(daemon, kernel, words)
                    if not daemon:
                        self.assertIn(words.split()[2], DENIED)
                pairs, allowed = pairs + 1, allowed + kernel
        print(f"authorisation: {pairs} pairs, {allowed} of them allowed by the kernel", file=sys.stderr)
        self.assertGreaterEqual(pairs, 40)
        self.assertGreaterEqual(allowed, 20)
        for what, target in self.targets.items():
            with self.subTest(what):
                self.assertEqual(harm(target.pid), [])

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

    def test_collectors_are_the_weaker_of_caller_and_owner(self):
        owner = str(access_cases.ALICE)
        for what, capabilities in (("alice's", 0), ("alice's, not dumpable", 1 << 19)):
            for who in ("root", "alice"):
                with self.subTest(caller=who, target=what):
                    waiting = self.daemon.probe("create", self.targets[what].pid, 1000, prefix=self.callers[who])
                    name = waiting.end()[-1].split()[1]
                    for collector in self.daemon.collectors():
                        seen = status_fields(collector)
                        self.assertEqual(seen["Uid"].split(), [owner] * 4)
                        self.assertEqual(int(seen["CapPrm"], 16) & ~(capabilities if who == "root" else 0), 0)
                        self.assertEqual(seen["NoNewPrivs"], "1")
                    for verb in ("cancel", "watch", "delete"):
                        self.daemon.probe(verb, name).end()

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
        """What the audit has about this caller and this target, in order of time; None: about connecting."""
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
        program, after = self.place.folder / "suid-root", self.place.folder / "after.py"
        after.write_text("def secret():\n  print('there', flush=True)\n  while True: pass\nsecret()\n")
        script = ("import os, sys\ndef before():\n  print('ready', flush=True); sys.stdin.readline()\nbefore()\n"
                  f"os.execv('{program}', ['x', '-I', '-S', '{after}'])")
        target = subprocess.Popen([*self.callers["alice"], access_cases.PYTHON, "-I", "-S", "-c", script],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for end in (target.stdout.close, target.stdin.close, target.wait, target.kill):
            self.addCleanup(end)
        self.assertEqual(target.stdout.readline(), "ready\n")
        trace = self.place.folder / "alice.pftrace"
        trace.touch()
        os.chown(trace, access_cases.ALICE, access_cases.ALICE)
        probe = self.daemon.probe("record", target.pid, 1000, trace, prefix=self.callers["alice"])
        self.addCleanup(probe.close)
        self.assertTrue(probe.hear("STATE_RUNNING"))
        target.stdin.write("go\n")
        target.stdin.flush()
        self.assertEqual(target.stdout.readline(), "there\n")
        probe.end()
        self.assertIn(b"before", trace.read_bytes())
        self.assertNotIn(b"secret", trace.read_bytes())


if __name__ == "__main__":
    case.main()

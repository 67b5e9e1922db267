"""Captures over TCP by MUNGE: a client with a login node's certificate is the user that a real munged names, per call.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, case, interpreters, munged  # noqa: E402
from support.certificates import environment  # noqa: E402
from support.daemon import PROBE, Daemon, within_deadline  # noqa: E402
from support.target_process import DEADLINE, harm  # noqa: E402
from support.tls_case import TlsCase  # noqa: E402

ALICE, BOB = access_cases.ALICE, access_cases.BOB
NODE = "/ptraceprof.v1.NodeService/GetNode"
PACKAGE = pathlib.Path(os.environ.get("PP_CLIENT_PACKAGE", "/nowhere")) / "package"
CLIENT = interpreters.CACHE / f"client-{sys.version_info[0]}.{sys.version_info[1]}"


def policy(socket, users):
    return f"""
munge_socket = "{socket}"

[[identity]]
name = "login"
common_name = "login1"
impersonate = {users}
gid = {ALICE}
munge = true

[[identity]]
name = "alice"
uri = "spiffe://site/user/alice"
user = {ALICE}
gid = {ALICE}
"""


def payload(method=NODE, host="127.0.0.1"):
    """The payload that our clients have munged seal."""
    return f"ptrace-prof call 1\n{method}\n{host}\n"


@unittest.skipUnless(munged.PROGRAM, "there is no munged (package munge)")
@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class MungeCase(TlsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.munged = munged.Munged(cls.place.folder)
        cls.addClassCleanup(cls.munged.close)
        cls.login = cls.authority.sign("login1")
        for certificate in (cls.login, cls.alice):
            os.chmod(certificate.key, 0o644)  # all users of that node may read it
        cls.daemon, cls.address = cls.serve(policy(cls.munged.socket, [ALICE]), "--multi-user")
        cls.addClassCleanup(cls.daemon.close)

    def ask(self, uid, *words, certificate=None, socket=None, more=(), **options):
        """Runs the command as that user of the login node."""
        return self.run_as(certificate or self.login, *words, prefix=access_cases.as_user(uid),
                           more=("--munge-socket", socket or self.munged.socket, *more), **options)

    def probe(self, credential, certificate=None):
        """The daemon's answer to a call of NODE with this credential: "node ..." or "error ..."."""
        env = {**os.environ, **environment(self.authority, certificate or self.login)}
        if credential is not None:
            env["PP_PROBE_AUTHORIZATION"] = credential
        done = subprocess.run([PROBE, self.address, "node"], env=env, text=True, capture_output=True, timeout=DEADLINE)
        return done.stdout.splitlines()[-1]

    def shown(self, credential):
        return self.probe(f"munge {credential}")

    def says(self, answer, *words):
        for word in words:
            self.assertIn(word, answer)


class Callers(MungeCase):
    def test_a_user_of_the_login_node_is_who_munged_says(self):
        mine = self.target()
        done = self.ask(ALICE, "dump", "--pid", mine)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(mine), done.stdout)
        entry, = self.audited(target=mine, outcome="allowed")
        self.assertEqual((entry["uid"], entry["munge_uid"], entry["pid"]), (ALICE, ALICE, 0))
        self.assertIn("login1", entry["certificate"])
        self.assertEqual(harm(mine), [])

    def test_each_call_of_a_stream_and_of_many_has_its_own_credential(self):
        mine = self.target()
        trace = self.place.folder / "traces"
        trace.mkdir()
        os.chown(trace, ALICE, ALICE)
        done = self.ask(ALICE, "record", "--pid", mine, "-d", "0.3", "-o", trace / "mine.pftrace")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater((trace / "mine.pftrace").stat().st_size, 100)
        kept = self.ask(ALICE, "record", "--detach", "--pid", mine, "-d", "0.1")
        self.assertEqual(kept.returncode, 0, kept.stderr)
        name = kept.stdout.strip()
        self.assertIn(name, self.ask(ALICE, "captures", "list").stdout)
        self.assertIn(name, self.run_as(self.alice, "captures", "list").stdout)
        for words in (("captures", "fetch", name, "-o", trace / "kept.pftrace", "--follow"), ("captures", "delete", name)):
            done = self.ask(ALICE, *words)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_who_is_not_in_the_rule_is_nobody(self):
        mine = self.target()
        self.refused(self.ask(BOB, "dump", "--pid", mine), f"according to MUNGE, this call is by user {BOB}",
                     "the identity 'login' may not act as that user", "hint: ")
        self.refused(self.ask(0, "dump", "--pid", mine), "is by user 0")
        self.refused(self.ask(BOB, "dump", "--pid", mine, user=ALICE), f"is by user {BOB}")
        entry = self.audited(munge_uid=BOB, outcome="refused")[0]
        self.assertEqual((entry["what"], entry["uid"], entry["reason"]), ("connect", 0xffffffff, "PERMISSION_DENIED"))
        self.assertIn("login1", entry["certificate"])

    def test_a_user_may_be_named_and_must_be_the_right_one(self):
        mine = self.target()
        done = self.ask(ALICE, "dump", "--pid", mine, user=ALICE)
        self.assertEqual(done.returncode, 0, done.stderr)
        for other in (BOB, "root", "0"):
            self.refused(self.ask(ALICE, "dump", "--pid", mine, user=other), f"it names user '{other}'")

    def test_without_a_credential_the_remedy_is_said(self):
        for options in ({}, {"user": ALICE}):
            self.refused(self.run_as(self.login, "ps", **options), "the call has no MUNGE credential", "--munge",
                         "UNAUTHENTICATED")

    def test_a_certificate_of_one_user_needs_none(self):
        mine = self.target()
        for done in (self.run_as(self.alice, "dump", "--pid", mine),
                     self.ask(ALICE, "dump", "--pid", mine, certificate=self.alice),
                     self.ask(BOB, "dump", "--pid", mine, certificate=self.alice)):
            self.assertEqual(done.returncode, 0, done.stderr)
        entries = self.audited(target=mine, outcome="allowed")
        self.assertEqual([entry.get("munge_uid") for entry in entries], [None] * 3)

    def test_what_a_client_cannot_do_it_says_itself(self):
        self.refused(self.ask(ALICE, "ps", socket="/nowhere/munge"), "munged does not answer at /nowhere/munge",
                     "--munge-socket")
        for option in ("--munge", f"--munge-socket={self.munged.socket}"):
            self.refused(self.run_as(None, "ps", address=f"unix:{self.place.socket}", more=(option,)), option.split("=")[0],
                         "needs a connection over TLS")


class Credentials(MungeCase):
    def test_a_good_one_is_good_once(self):
        credential = self.munged.credential(ALICE, payload())
        self.says(self.shown(credential), "node ")
        self.says(self.shown(credential), "UNAUTHENTICATED", "Replayed credential", "its own credential")

    def test_each_bad_one_is_refused_by_its_name(self):
        other = munged.Munged(self.place.folder, "other-cluster")
        self.addCleanup(other.close)
        make = self.munged.credential
        good = make(ALICE, payload())
        for credential, words in (
                (make(ALICE, payload("/ptraceprof.v1.NodeService/GetDaemonStatus")), "is for another call: /ptraceprof"),
                (make(ALICE, payload(host="node8")), "for the host node8, which the server's certificate does not name"),
                (make(ALICE, payload(host="127.0.0.2")), "is for the host 127.0.0.2"),
                (make(ALICE, ""), "was not made for ptrace-profd"),
                (make(ALICE, payload() + "more"), "was not made for ptrace-profd"),
                (make(ALICE, payload(), f"--restrict-uid={ALICE}"), "Unauthorized credential"),
                (other.credential(ALICE, payload()), "munged refuses the credential"),
                (good[:60] + ("A" if good[60] != "A" else "B") + good[61:], "munged refuses the credential"),
                ("MUNGE:AAAA:", "munged refuses the credential"),
                ("MUNGE:" + "A" * 5000 + ":", "is not a MUNGE credential"),
                ("secret", "is not a MUNGE credential")):
            with self.subTest(words=words):
                self.says(self.shown(credential), "UNAUTHENTICATED", words)
        self.says(self.probe(good), "UNAUTHENTICATED", "is not a MUNGE credential")  # without its scheme
        self.says(self.probe(None), "UNAUTHENTICATED", "has no MUNGE credential")
        self.says(self.shown(good), "node ")

    def test_one_that_has_expired_is_refused(self):
        credential, made = self.munged.credential(ALICE, payload(), "--ttl=1"), time.time()
        self.assertTrue(within_deadline(lambda: time.time() > made + 3))
        self.says(self.shown(credential), "UNAUTHENTICATED", "Expired credential", "clocks")

    def test_it_is_the_host_of_the_certificate_whatever_the_address(self):
        self.says(self.shown(self.munged.credential(ALICE, payload(host="LocalHost"))), "node ")
        done = self.ask(ALICE, "ps", address=self.address.replace("127.0.0.1", "localhost"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.ask(ALICE, "ps", more=("--tls-server-name", "localhost"))
        self.assertEqual(done.returncode, 0, done.stderr)


class Trouble(MungeCase):
    def test_a_munged_that_has_gone_is_named_and_one_that_comes_back_is_used(self):
        credentials = [self.munged.credential(ALICE, payload()) for _ in range(2)]
        self.munged.stop()
        try:
            for credential in credentials:
                self.says(self.shown(credential), "UNAVAILABLE", f"munged does not answer at {self.munged.socket}",
                          "systemctl start munge")
            self.refused(self.ask(ALICE, "ps"), f"munged does not answer at {self.munged.socket}")
            self.says(self.probe(None, certificate=self.alice), "node ")
        finally:
            self.munged.start()
        self.assertTrue(within_deadline(lambda: "node " in self.shown(self.munged.credential(ALICE, payload()))))

    def test_a_munged_that_hangs_holds_nobody_up(self):
        credentials = [self.munged.credential(ALICE, payload()) for _ in range(5)]
        self.munged.send_signal(signal.SIGSTOP)
        try:
            for credential in credentials:
                self.says(self.shown(credential), "UNAVAILABLE", "accepts connections but sends nothing")
                self.says(self.probe(None, certificate=self.alice), "node ")
                self.assertEqual(self.daemon.probe("node").end()[-1].split()[0], "node")
        finally:
            self.munged.send_signal(signal.SIGCONT)
        self.assertTrue(within_deadline(lambda: "node " in self.shown(self.munged.credential(ALICE, payload()))))

    def test_a_daemon_starts_without_munged_and_says_so(self):
        options = [str(option) for option in self.options(policy("/nowhere/munge", [ALICE]))]
        for word in ("--socket", "--spool"):
            options[options.index(word) + 1] += "-other"
        daemon = Daemon(self.place, *options, "--multi-user")
        self.addCleanup(daemon.close)
        daemon.hear("event=munged_silent")
        self.assertIn("/nowhere/munge", daemon.words())


_SCRIPT = """
import asyncio, sys
import ptrace_prof
from ptrace_prof import _munge, aio
address, pid = sys.argv[1], int(sys.argv[2])
with ptrace_prof.Client(address) as client:
    trace = client.record(pid, duration=0.2)
    assert trace.table() is not None
    print("recorded", trace.capture.state.name)
    print("captures", len(client.list_captures()))
async def main():
    async with aio.AsyncClient(address) as client:
        print("node", (await client.node()).name != "")
asyncio.run(main())
try:
    ptrace_prof.Client(address, tls=ptrace_prof.Tls(munge_socket="/nowhere/munge"))
except ptrace_prof.Unavailable as error:
    print("silent", error.message)
_munge.LIBRARY = "libno-munge.so.2"
try:
    ptrace_prof.Client(address)
except ptrace_prof.InvalidRequest as error:
    print("missing", error)
"""


class PythonClient(MungeCase):
    @unittest.skipUnless(PACKAGE.exists() and CLIENT.exists(), f"{PACKAGE} or {CLIENT} is not there")
    def test_it_shows_one_with_each_call(self):
        mine = self.target()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)  # other users cannot enter a home directory
        shutil.copytree(PACKAGE, f"{folder.name}/package")

        def run(uid):
            paths = f"{folder.name}/package:{CLIENT}"
            env = {**os.environ, **environment(self.authority, self.login), "PYTHONPATH": paths, "HOME": "/",
                   "PTRACE_PROF_MUNGE": "1", "PTRACE_PROF_MUNGE_SOCKET": str(self.munged.socket)}
            return subprocess.run([*access_cases.as_user(uid), access_cases.PYTHON, "-c", _SCRIPT, self.address, str(mine)],
                                  env=env, cwd="/", text=True, capture_output=True, timeout=DEADLINE)

        done = run(ALICE)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
        self.assertEqual((lines["recorded"], lines["node"]), ("SUCCEEDED", "True"))
        self.assertIn("munged does not answer at /nowhere/munge", lines["silent"])
        self.assertIn("libno-munge.so.2", lines["missing"])
        refused = run(BOB)
        self.assertIn(f"according to MUNGE, this call is by user {BOB}", refused.stderr)


if __name__ == "__main__":
    case.main()

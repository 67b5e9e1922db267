"""Captures over TCP: which certificates are accepted, for which users, and what refused clients hear."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, case  # noqa: E402
from support.certificates import Authority, environment  # noqa: E402
from support.daemon import Daemon, Place, Probe, within_deadline  # noqa: E402
from support.target_process import DEADLINE, harm, status_fields  # noqa: E402
from support.tls_case import TlsCase  # noqa: E402

ALICE, BOB = access_cases.ALICE, access_cases.BOB
IDENTITIES = f"""
[[identity]]
name = "alice"
uri = "spiffe://site/user/alice"
user = {ALICE}
gid = {ALICE}

[[identity]]
name = "dashboard"
common_name = "dashboard"
impersonate = [{ALICE}, {BOB}]
gid = {ALICE}

[[identity]]
name = "admin"
common_name = "admin"
user = "root"
root = true
"""


def writable_memory(pid):
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            begin, end = (int(text, 16) for text in line.split()[0].split("-"))
            if " rw" in line and end - begin < 1 << 28:
                with contextlib.suppress(OSError):  # mapped, but without a page
                    memory.seek(begin)
                    yield memory.read(end - begin)


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class Identities(TlsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon, cls.address = cls.serve(IDENTITIES, "--multi-user")
        cls.addClassCleanup(cls.daemon.close)

    def test_a_certificate_is_its_user_and_nobody_else(self):
        mine, theirs = self.target(), self.target(BOB)
        done = self.run_as(self.alice, "dump", "--pid", mine)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(mine), done.stdout)
        self.refused(self.run_as(self.alice, "dump", "--pid", theirs), f"belongs to uid {BOB}")
        self.refused(self.run_as(self.alice, "dump", "--pid", mine, user=BOB), "'alice' may not act as user")
        self.refused(self.run_as(self.alice, "dump", "--pid", mine, user="root"), "may not act as user 'root'")
        entry, = self.audited(target=mine, outcome="allowed", uid=ALICE)
        self.assertIn("spiffe://site/user/alice", entry["certificate"])
        self.assertEqual(entry["pid"], 0)
        self.assertEqual((harm(mine), harm(theirs)), ([], []))

    def test_a_trace_is_recorded_and_belongs_to_the_user(self):
        mine = self.target()
        trace = self.place.folder / "mine.pftrace"
        done = self.run_as(self.alice, "record", "--pid", mine, "-d", "0.3", "-o", trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(trace.stat().st_size, 100)
        kept = self.run_as(self.alice, "record", "--detach", "--pid", mine, "-d", "0.1")
        self.assertEqual(kept.returncode, 0, kept.stderr)
        name = kept.stdout.strip()
        self.assertIn(name, self.run_as(self.dashboard, "captures", "list", user=ALICE).stdout)
        self.assertNotIn(name, self.run_as(self.dashboard, "captures", "list", user=BOB).stdout)
        self.assertEqual(harm(mine), [])

    def test_who_speaks_for_several_names_one_of_them(self):
        mine, theirs = self.target(), self.target(BOB)
        for user, pid in ((ALICE, mine), (BOB, theirs)):
            done = self.run_as(self.dashboard, "dump", "--pid", pid, user=user)
            if user == ALICE:
                self.assertEqual(done.returncode, 0, done.stderr)
            else:  # the rule's gid is not bob's, and the kernel compares groups
                self.refused(done, "error: ")
        self.refused(self.run_as(self.dashboard, "dump", "--pid", mine), "this call names none", "--as USER")
        self.refused(self.run_as(self.dashboard, "dump", "--pid", mine, user=0), "may not act as user '0'")
        self.assertTrue(self.audited(what="connect", reason="PERMISSION_DENIED"))

    def test_the_key_is_in_the_memory_of_main_alone(self):
        text = subprocess.run(["openssl", "pkey", "-in", self.server.key, "-text", "-noout"], check=True, text=True,
                              capture_output=True).stdout
        secret = bytes.fromhex("".join(re.search(r"priv:\n((?:[ \t]+[0-9a-f:]+\n)+)", text)[1].split()).replace(":", ""))[-32:]
        holders = [pid for pid in (self.daemon.pid, self.daemon.launcher)
                   if any(form in memory for memory in writable_memory(pid) for form in (secret, secret[::-1]))]
        self.assertEqual(holders, [self.daemon.pid])

    def test_root_only_where_that_is_said(self):
        mine = self.target()
        done = self.run_as(self.admin, "dump", "--pid", mine)
        self.assertEqual(done.returncode, 0, done.stderr)
        entry, = self.audited(target=mine, outcome="allowed")
        self.assertEqual(entry["uid"], 0)

    def test_each_bad_certificate_is_refused_by_its_name(self):
        other = Authority(self.place.folder, "other-authority")
        expired = self.authority.sign("expired", "URI:spiffe://site/user/alice", days=-1)
        for_servers = self.authority.sign("of-a-server", "URI:spiffe://site/user/alice", usage="serverAuth")
        for certificate, words, logged in (
                (expired, ("the client certificate has expired",), "certificate has expired"),
                (other.sign("alice", "URI:spiffe://site/user/alice"), ("not signed by an authority that the server",),
                 "unable to get local issuer certificate"),
                (for_servers, ("not valid for clients",), "certificate purpose"),
                (self.stranger, ("no [[identity]]", "stranger", "spiffe://site/user/nobody"), "no [[identity]]")):
            with self.subTest(words=words):
                self.refused(self.run_as(certificate, "ps"), *words)
                self.daemon.hear(logged)
        self.refused(self.run_as(self.alice, "ps", authority=other), "certificate is not accepted")
        self.refused(self.run_as(None, "ps"), f"{self.address} needs --tls-cert", "PTRACE_PROF_TLS_CERT")
        self.refused(self.run_as(self.alice, "ps", address=self.address.replace("127.0.0.1", "127.0.0.2")), "127.0.0.2")

    def test_nothing_but_tls_with_a_certificate_gets_an_answer(self):
        unencrypted = self.run_as(self.alice, "ps", address=self.address.removeprefix("tls://"))
        self.refused(unencrypted, "cannot connect")
        nameless = ssl.create_default_context(cafile=self.authority.file)
        nameless.set_alpn_protocols(["h2"])
        with self.assertRaisesRegex(ssl.SSLError, "certificate required"), \
                socket.create_connection(("127.0.0.1", int(self.address.rpartition(":")[2])), DEADLINE) as plain, \
                nameless.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.recv(1)
        self.daemon.hear("peer did not return a certificate")

    def test_who_talks_garbage_and_stays_keeps_nobody_out(self):
        place = self.address.removeprefix("tls://").rsplit(":", 1)
        mine = self.target()
        with contextlib.ExitStack() as stack:
            for number in range(700):  # more than may be connected, from hosts that do not connect too often
                source = (f"127.0.1.{number // 100 + 1}", 0)
                garbage = stack.enter_context(socket.create_connection(place, DEADLINE, source_address=source))
                garbage.sendall(b"x" * 100)
            done = self.run_as(self.alice, "dump", "--pid", mine)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(harm(mine), [])

    def test_a_rule_that_goes_ends_what_rests_on_it_and_new_users_wait_for_a_restart(self):
        mine = self.target()

        def reload(text):
            known = len(self.daemon.words())
            self.policy.write_text(text)
            self.daemon.process.send_signal(signal.SIGHUP)
            self.assertTrue(within_deadline(lambda: "policy_read_again" in self.daemon.words()[known:]), self.daemon.words())

        self.addCleanup(reload, IDENTITIES)
        reload(IDENTITIES.replace("spiffe://site/user/alice", "spiffe://site/user/other"))
        self.refused(self.run_as(self.alice, "dump", "--pid", mine), "no [[identity]]")
        reload(IDENTITIES.replace(f"user = {ALICE}", "user = 54777"))
        self.refused(self.run_as(self.alice, "dump", "--pid", mine), "after ptrace-profd had started")


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class Crowd(TlsCase):  # a daemon of its own, as one logs at most ten refusals a second
    def setUp(self):
        super().setUp()
        self.daemon, self.address = self.serve(IDENTITIES, "--multi-user")
        self.addCleanup(self.daemon.close)

    def test_a_host_that_connects_too_often_is_not_listened_to_and_others_are(self):
        place = self.address.removeprefix("tls://").rsplit(":", 1)
        mine = self.target()

        def knock():  # all at once, as waiting for each on a busy machine may be too slow
            with contextlib.ExitStack() as stack:
                for _ in range(300):
                    one = stack.enter_context(socket.socket())
                    one.setblocking(False)
                    one.bind(("127.0.2.1", 0))
                    one.connect_ex((place[0], int(place[1])))
            return "this host connects too often" in self.daemon.words()  # not all are logged

        self.assertTrue(within_deadline(knock))
        done = self.run_as(self.alice, "dump", "--pid", mine)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(harm(mine), [])


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class Revoked(TlsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.list = cls.authority.revoke()
        cls.daemon, cls.address = cls.serve(IDENTITIES, "--multi-user", "--tls-crl", cls.list)
        cls.addClassCleanup(cls.daemon.close)

    def setUp(self):
        self.authority.revoke()
        self.hangup("event=revoked_read_again")

    def hangup(self, event):
        known = len(self.daemon.words())
        self.daemon.process.send_signal(signal.SIGHUP)
        self.assertTrue(within_deadline(lambda: event in self.daemon.words()[known:]), self.daemon.words()[known:])

    def answer(self, certificate, **more):
        return self.run_as(certificate, "captures", "list", **more)

    def test_a_certificate_that_is_revoked_is_refused_and_no_other(self):
        doomed = self.authority.sign("doomed", "URI:spiffe://site/user/alice")
        self.assertEqual(self.answer(doomed).returncode, 0)
        old = Probe(self.address, "twice", env={**os.environ, **environment(self.authority, doomed)})
        self.addCleanup(old.close)
        self.assertTrue(old.hear("first"), old.lines)
        self.assertTrue(within_deadline(lambda: status_fields(old.process.pid)["State"][0] == "T"))
        self.authority.revoke(doomed)
        self.assertEqual(self.answer(doomed).returncode, 0, "nobody has read the list again")
        self.hangup("event=revoked_read_again")
        old.process.send_signal(signal.SIGCONT)
        said = old.end()[-1]
        self.assertIn("error UNAUTHENTICATED", said)
        self.assertIn("has been revoked", said)
        refused = self.answer(doomed)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("the client certificate has been revoked", refused.stderr)
        self.daemon.hear("certificate revoked")
        entry = self.audited(what="connect", outcome="refused", reason="UNAUTHENTICATED")[-1]
        self.assertIn("doomed", json.dumps(entry))
        self.assertIn("certificate revoked", json.dumps(entry))
        self.assertEqual(self.answer(self.alice).returncode, 0)

    def test_who_is_below_an_authority_that_is_revoked_is_refused(self):
        site = Authority(self.place.folder, "site-authority", above=self.authority)
        below = site.sign("below", "URI:spiffe://site/user/alice")

        def publish(*revoked):
            self.authority.revoke(*revoked)
            self.list.write_text(self.list.read_text() + site.revoke().read_text())
            self.hangup("event=revoked_read_again")

        publish()
        self.assertEqual(self.answer(below).returncode, 0)
        old = Probe(self.address, "twice", env={**os.environ, **environment(self.authority, below)})
        self.addCleanup(old.close)
        self.assertTrue(old.hear("first"), old.lines)
        self.assertTrue(within_deadline(lambda: status_fields(old.process.pid)["State"][0] == "T"))
        publish(site)
        old.process.send_signal(signal.SIGCONT)
        self.assertIn("has been revoked", old.end()[-1])
        self.assertIn("has been revoked", self.answer(below).stderr)
        self.assertEqual(self.answer(self.alice).returncode, 0)

    def test_a_list_that_is_none_changes_nothing(self):
        doomed = self.authority.sign("doomed-too", "URI:spiffe://site/user/alice")
        self.authority.revoke(doomed)
        self.hangup("event=revoked_read_again")
        good = self.list.read_text()
        for bad in ("", good[:len(good) // 2], "no list"):
            self.list.write_text(bad)
            self.hangup("event=revoked_unchanged")
            self.assertIn("has been revoked", self.answer(doomed).stderr)
            self.assertEqual(self.answer(self.alice).returncode, 0)

    def test_a_list_that_is_missing_is_the_daemons_fault_and_said_so(self):
        self.list.write_text(Authority(self.place.folder, "unlisted").revoke().read_text())  # without an entry of ours
        self.hangup("event=revoked_read_again")
        done = self.answer(self.alice)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("the client certificate", done.stderr)
        self.assertIn("log of ptrace-profd", done.stderr)
        self.daemon.hear("unable to get certificate CRL")


@unittest.skipUnless(os.getuid() == 0, "the policy's file is root's")
class Start(TlsCase):
    def fails(self, options, *words):
        daemon = Daemon(self.place, *options, listening=False)
        self.addCleanup(daemon.close)
        self.assertNotEqual(daemon.process.wait(DEADLINE), 0)
        for word in words:
            self.assertIn(word, daemon.words())

    def test_what_is_missing_or_too_much_is_named(self):
        self.fails(self.options(""), "admits no client")
        self.fails(self.options(IDENTITIES.replace("root = true", "")), "would give clients on other machines the rights of root")
        self.fails(self.options(IDENTITIES.replace("gid", "#gid")), "the group is unknown")
        self.fails(self.options("[[identity]]\nname = 'x'\nuser = 'root'\nroot = true\n"), "matches no certificate")
        self.fails(self.options(IDENTITIES, "node:7443"), "is not a valid address")
        options = list(map(str, self.options(IDENTITIES)))
        at = options.index("--tls-client-ca")
        self.fails(options[:at] + options[at + 2:], "--listen-tcp serves clients with a certificate")
        self.fails([word if word != str(self.server.key) else str(self.alice.key) for word in options], "as the key of")
        self.fails([*options, "--tls-crl", "/nowhere.crl"], "/nowhere.crl as the list of revoked certificates")
        self.fails([*options, "--tls-crl", self.server.file], "as the list of revoked certificates", "it holds none")
        self.fails(["--socket", self.place.socket, "--spool", self.place.spool, "--tls-crl", self.authority.revoke()],
                   "--tls-crl need --listen-tcp")
        os.chmod(self.server.key, 0o644)
        self.addCleanup(os.chmod, self.server.key, 0o600)
        self.fails(options, "other users can access the key")

    def test_a_user_serves_only_itself(self):
        run = Place()
        self.addCleanup(run.close)
        os.chown(self.server.key, ALICE, ALICE)
        self.addCleanup(os.chown, self.server.key, 0, 0)
        policy = run.folder / "policy.toml"

        def start(text, listening):
            policy.write_text(text)
            os.chown(policy, ALICE, ALICE)
            options = list(map(str, self.options(IDENTITIES)))
            for word, new in (("--policy", policy), ("--socket", run.socket), ("--spool", run.spool)):
                options[options.index(word) + 1] = str(new)
            at = options.index("--audit")
            daemon = Daemon(run, *(options[:at] + options[at + 2:]), prefix=access_cases.as_user(ALICE), listening=listening)
            self.addCleanup(daemon.close)
            return daemon

        refused = start(IDENTITIES, listening=False)
        self.assertNotEqual(refused.process.wait(DEADLINE), 0)
        self.assertIn("cannot become another", refused.words())
        daemon = start(IDENTITIES.partition("[[identity]]\nname = \"dashboard\"")[0], listening=True)
        daemon.hear("event=listening_tcp")
        self.address = "tls://" + re.search(r"event=listening_tcp address=\"?([0-9.:]+)", daemon.words()).group(1)
        mine = self.target()
        done = self.run_as(self.alice, "dump", "--pid", mine)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    case.main()

"""The base of the tests of captures over TCP: an authority, its certificates, a daemon that uses them, and clients."""
import json
import os
import re
import subprocess

from . import access_cases, case, profiler
from .certificates import Authority, environment
from .daemon import Daemon, Place
from .target_process import DEADLINE

ALICE = access_cases.ALICE


class TlsCase(case.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = Place()
        cls.addClassCleanup(cls.place.close)
        os.chmod(cls.place.folder, 0o755)
        cls.authority = Authority(cls.place.folder)
        cls.server = cls.authority.sign("node", "IP:127.0.0.1,DNS:localhost", usage="serverAuth")
        cls.alice = cls.authority.sign("laptop", "URI:spiffe://site/user/alice")
        cls.dashboard = cls.authority.sign("dashboard")
        cls.admin = cls.authority.sign("admin")
        cls.stranger = cls.authority.sign("stranger", "URI:spiffe://site/user/nobody")
        cls.audit = cls.place.folder / "audit.log"
        cls.policy = cls.place.folder / "policy.toml"

    @classmethod
    def options(cls, policy, address="127.0.0.1:0"):
        cls.policy.write_text(policy)
        os.chmod(cls.policy, 0o644)
        return ("--socket", cls.place.socket, "--spool", cls.place.spool, "--policy", cls.policy, "--audit", cls.audit,
                "--listen-tcp", address, "--tls-cert", cls.server.file, "--tls-key", cls.server.key, "--tls-client-ca",
                cls.authority.file)

    @classmethod
    def serve(cls, policy, *more):
        """The daemon, and its address."""
        daemon = Daemon(cls.place, *cls.options(policy), *more)
        daemon.hear("event=listening_tcp")
        return daemon, "tls://" + re.search(r"event=listening_tcp address=\"?([0-9.:]+)", daemon.words()).group(1)

    def run_as(self, certificate, *words, user=None, authority=None, address=None, more=(), prefix=()):
        env = {**os.environ, **environment(authority or self.authority, certificate, user)}
        return subprocess.run([*prefix, profiler.BINARY, *map(str, words), "--host", address or self.address, *map(str, more)],
                              env=env, text=True, capture_output=True, timeout=DEADLINE, stdin=subprocess.DEVNULL)

    def refused(self, done, *words):
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def target(self, uid=ALICE):
        target = access_cases.AccessTarget(access_cases.as_user(uid) if uid else (), access_cases.PYTHON, "pass")
        self.addCleanup(target.close)
        return target.pid

    def audited(self, **wanted):
        entries = [json.loads(line) for line in self.audit.read_text().splitlines()]
        return [entry for entry in entries if all(entry.get(key) == value for key, value in wanted.items())]

"""Garbage to a real ptrace-profd, before and after the preface of HTTP/2: on its socket, on TCP without a certificate,
and within TLS from a client with one. Meanwhile other clients are served, and in the end the daemon ends with status 0.

usage: http2_garbage.py [--seconds N] [--seed N] [--most-mib N]     needs PTRACE_PROFD_BIN, PP_DAEMON_PROBE, openssl
"""
import argparse
import contextlib
import os
import pathlib
import random
import re
import socket
import ssl
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import http2_garbage  # noqa: E402
from support.certificates import Authority, environment  # noqa: E402
from support.daemon import PROBE, Daemon, Place  # noqa: E402

OPEN = 40  # connections that are left open
PATIENCE = 0.05


def rss_mib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


class Attack:
    def __init__(self, place, seed):
        self.place, self.random, self.open, self.count = place, random.Random(seed), [], {}
        authority = Authority(place.folder)
        server = authority.sign("node", "IP:127.0.0.1", usage="serverAuth")
        self.client = authority.sign("me")
        policy = place.folder / "policy.toml"
        user = os.getuid()
        policy.write_text(f"[[identity]]\nname = 'me'\ncommon_name = 'me'\nuser = {user}\nroot = true\n")
        os.chmod(policy, 0o644)
        self.daemon = Daemon(place, "--socket", place.socket, "--spool", place.spool, "--policy", policy, "--listen-tcp",
                             "127.0.0.1:0", "--tls-cert", server.file, "--tls-key", server.key, "--tls-client-ca", authority.file)
        self.daemon.hear("event=listening_tcp")
        self.port = int(re.search(r"event=listening_tcp address=\"?127.0.0.1:(\d+)", self.daemon.words()).group(1))
        self.environment = environment(authority, self.client)
        self.context = ssl.create_default_context(cafile=authority.file)
        self.context.load_cert_chain(self.client.file, self.client.key)
        self.context.set_alpn_protocols(["h2"])

    def connect(self, way):
        if way == "unix":
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(PATIENCE)
            connection.connect(str(self.place.socket))
            return connection
        # Each connection has another address, because a host that connects too often is refused, and then nothing is
        # tested.
        host = f"127.{self.random.randrange(1, 255)}.{self.random.randrange(255)}.{self.random.randrange(1, 255)}"
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=5, source_address=(host, 0))
        if way == "certificate":
            connection = self.context.wrap_socket(connection, server_hostname="127.0.0.1")
        connection.settimeout(PATIENCE)
        return connection

    def hello(self):
        """The first bytes of a handshake, which may have an error in them."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = self.context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        with contextlib.suppress(ssl.SSLWantReadError):
            client.do_handshake()
        said = outgoing.read()
        return self.random.choice((said, said[:self.random.randrange(len(said))], http2_garbage.mutated(self.random, said)))

    def once(self):
        way = self.random.choice(("unix", "tcp", "certificate"))
        bare = way == "tcp" and self.random.random() < 0.6
        said = self.hello() if bare else http2_garbage.session(self.random)
        kind = "handshake" if bare else "after the preface" if said.startswith(http2_garbage.PREFACE) else "before it"
        self.count[f"{way}, {kind}"] = self.count.get(f"{way}, {kind}", 0) + 1
        with contextlib.suppress(OSError):  # the daemon may hang up at any moment
            connection = self.connect(way)
            self.open.append(connection)
            connection.sendall(said)
            if self.random.random() < 0.5:
                connection.recv(65536)
        while len(self.open) > (OPEN if self.random.random() < 0.9 else 0):
            victim = self.open.pop(self.random.randrange(len(self.open)))
            with contextlib.suppress(OSError):
                if self.random.random() < 0.3:  # with a reset
                    victim.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                victim.close()

    def check(self, most_mib):
        """What is wrong now, or None."""
        if self.daemon.process.poll() is not None:
            return f"the daemon has ended: {self.daemon.words()[-6000:]}"
        if "event=launcher_ended" in self.daemon.words():
            return f"the launcher has ended: {self.daemon.words()[-6000:]}"
        for address in (self.place.address, f"tls://127.0.0.1:{self.port}"):
            done = subprocess.run([PROBE, address, "list"], env={**os.environ, **self.environment}, capture_output=True,
                                  text=True, timeout=60)
            if done.returncode != 0:
                return f"{address} does not serve others: {done.stdout}{done.stderr}"
        grown = rss_mib(self.daemon.pid)
        return f"the daemon has {grown:.0f} MiB" if grown > most_mib else ""

    def end(self):
        for connection in self.open:
            connection.close()
        return self.daemon.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--most-mib", type=float, default=256)
    parsed = parser.parse_args()
    with contextlib.closing(Place()) as place:
        os.chmod(place.folder, 0o755)
        attack = Attack(place, parsed.seed)
        with contextlib.closing(attack.daemon):
            began, end, most = time.monotonic(), time.monotonic() + parsed.seconds, 0.0
            wrong, checked = "", began
            while not wrong and time.monotonic() < end:
                attack.once()
                if time.monotonic() - checked > 1:
                    wrong, checked = attack.check(parsed.most_mib), time.monotonic()
                    most = max(most, rss_mib(attack.daemon.pid)) if not wrong else most
            wrong = wrong or attack.check(parsed.most_mib)
            status = None if wrong else attack.end()
            wrong = wrong or ("" if status == 0 else f"the daemon ended with {status}: {attack.daemon.words()[-3000:]}")
    if wrong:
        sys.exit(f"seed {parsed.seed}, {attack.count}: {wrong}")
    ways = "; ".join(f"{count} {way}" for way, count in sorted(attack.count.items()))
    print(f"http2_garbage: clean for {parsed.seconds:g} s with seed {parsed.seed}, {sum(attack.count.values())} connections "
          f"({ways}), at most {most:.0f} MiB")


if __name__ == "__main__":
    main()

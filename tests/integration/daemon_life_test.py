"""The life of ptrace-profd under a service manager: its notifications, the socket that is passed to it, and how it
ends."""
import contextlib
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.daemon import AS_USER, USER, Daemon, Place, gone, state_of, within_deadline  # noqa: E402
from support.target_process import DEADLINE  # noqa: E402

needs_root = unittest.skipUnless(os.getuid() == 0, "only root can become others")
PASSER = pathlib.Path(__file__).resolve().parent.parent / "support" / "socket_passer.py"


class LifeCase(case.Case):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def daemon(self, *more, **options):
        words = ("--socket", self.place.socket, "--spool", self.place.spool, *more)
        daemon = Daemon(self.place, *words, **options)
        self.addCleanup(daemon.close)
        return daemon

    def probe(self, daemon, *words, **more):
        probe = daemon.probe(*words, **more)
        self.addCleanup(probe.close)
        return probe

    def begin(self, daemon, pid, seconds=1000):
        """The name of a capture that runs, and has recorded something."""
        line = self.probe(daemon, "create", pid, seconds).end()[-1]
        name = line.split()[1]
        self.assertTrue(within_deadline(lambda: self.shown(daemon, name)[3] != "0"))
        return name

    def shown(self, daemon, name):
        """The line of `list` about a capture, as words: capture NAME STATE BYTES MESSAGE."""
        lines = self.probe(daemon, "list").end()
        found = [line.split(maxsplit=4) for line in lines if line.split()[1] == name]
        self.assertEqual(len(found), 1, lines)
        return [*found[0], ""]

    def functions(self, trace):
        return profiler.must("export", trace, "--format", "collapsed", "-o", "-").output


class Manager:
    """The service manager's end of sd_notify."""

    def __init__(self, address):
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self._socket.settimeout(DEADLINE)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.pid = None

    def hear(self):
        """One message, as a dictionary."""
        text, extra, _, _ = self._socket.recvmsg(4096, 256)
        self.pid = int.from_bytes(extra[0][2][:4], sys.byteorder)
        return dict(line.split("=", 1) for line in text.decode().splitlines())

    def hear_of(self, name):
        while name not in (said := self.hear()):
            pass
        return said

    def close(self):
        self._socket.close()


@contextlib.contextmanager
def as_user():
    """Acts as an ordinary user, who may set the limits of their own processes. Root may lack CAP_SYS_RESOURCE."""
    os.setresgid(USER, USER, 0)
    os.setresuid(USER, USER, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)


@needs_root
class Starvation(LifeCase):
    """Threads, descriptors or memory run out. A request that needs them is refused, and everything else goes on."""

    def setUp(self):
        super().setUp()
        self.target = self.start("heartbeat.py", python="/usr/bin/python3", prefix=AS_USER)
        self.daemon_ = self.daemon(prefix=AS_USER)
        self.name = self.begin_as_user()

    def begin_as_user(self):
        line = self.probe(self.daemon_, "create", self.target.pid, 1000, prefix=AS_USER).end()[-1]
        self.assertTrue(line.startswith("capture "), line)
        name = line.split()[1]
        self.assertTrue(within_deadline(lambda: self.bytes_of(name) > 0))
        return name

    def bytes_of(self, name):
        lines = self.probe(self.daemon_, "list", prefix=AS_USER).end()
        found = [line.split(maxsplit=4) for line in lines if line.split()[1] == name]
        self.assertEqual(len(found), 1, lines)
        self.assertIn(found[0][2], ("STATE_PENDING", "STATE_RUNNING"), found)
        return int(found[0][3])

    def starve(self, which, amounts, processes):
        """What `create` answers under each of these soft limits."""
        said = []
        for amount in amounts:
            with as_user():
                before = {pid: resource.prlimit(pid, which) for pid in processes}
                for pid, (_, hard) in before.items():
                    resource.prlimit(pid, which, (amount, hard))
            try:
                said.append(self.probe(self.daemon_, "create", self.target.pid, 1000, prefix=AS_USER).end()[-1])
            finally:
                with as_user():
                    for pid, limits in before.items():
                        resource.prlimit(pid, which, limits)
        return said

    def judge(self, said):
        """The number of refusals."""
        self.assertIsNone(self.daemon_.process.poll(), self.daemon_.words())
        names = [line.split()[1] for line in said if line.startswith("capture ")]
        refused = [line for line in said if not line.startswith("capture ")]
        for line in refused:
            self.assertRegex(line, "^error (RESOURCE_EXHAUSTED|UNAVAILABLE) ", "no room, or no connection")
        for name in names:
            self.probe(self.daemon_, "delete", name, prefix=AS_USER).end()
        before = self.bytes_of(self.name)
        self.assertTrue(within_deadline(lambda: self.bytes_of(self.name) > before), "what was there goes on")
        self.begin_as_user()
        return len(refused)

    def test_threads(self):
        own = [self.daemon_.pid, self.daemon_.launcher]
        used = sum(len(os.listdir(f"/proc/{pid}/task")) for pid in (*own, self.target.pid))  # all of that user
        said = self.starve(resource.RLIMIT_NPROC, range(used - 4, used + 24, 4), own)
        self.assertGreater(self.judge(said), 0, said)

    def test_descriptors(self):
        for pid in (self.daemon_.pid, self.daemon_.launcher):
            used = len(os.listdir(f"/proc/{pid}/fd"))
            with self.subTest(pid):
                said = self.starve(resource.RLIMIT_NOFILE, range(used, used + 24), [pid])
                self.assertGreater(self.judge(said), 0, said)

    def test_memory(self):
        for pid, least in ((self.daemon_.pid, 8), (self.daemon_.launcher, 0)):
            used = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0]) << 12
            with self.subTest(pid):
                said = self.starve(resource.RLIMIT_AS, [used + (more << 20) for more in range(least, 64, 8)], [pid])
                refused = self.judge(said)
                self.assertTrue(refused > 0 or pid == self.daemon_.launcher, said)


class Notices(LifeCase):
    def manager(self, address):
        manager = Manager(address)
        self.addCleanup(manager.close)
        return manager

    def test_of_start_and_end(self):
        for address in (str(self.place.folder / "notify"), f"@pp-notify-{os.getpid()}"):
            with self.subTest(address):
                manager = self.manager(address)
                daemon = self.daemon(env={**os.environ, "NOTIFY_SOCKET": address}, listening=False)
                said = manager.hear_of("READY")
                self.assertEqual(said["READY"], "1")
                self.assertIn(str(self.place.socket), said["STATUS"])
                self.assertEqual(manager.pid, daemon.pid, "from the main process")
                self.assertEqual(self.probe(daemon, "list").end(), [], "who says it is ready, is")
                daemon.process.send_signal(signal.SIGTERM)
                said = manager.hear_of("STOPPING")
                self.assertEqual(said["STOPPING"], "1")
                self.assertGreater(int(said["EXTEND_TIMEOUT_USEC"]), 15_000_000, "the time for draining")
                self.assertEqual(daemon.process.wait(DEADLINE), 0)

    def test_watchdog(self):
        manager = self.manager(str(self.place.folder / "notify"))
        daemon = self.daemon(env={**os.environ, "NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "30000"})
        for _ in range(3):
            self.assertEqual(manager.hear_of("WATCHDOG")["WATCHDOG"], "1")
        self.assertEqual(daemon.end(), 0)

    def test_collectors_know_nothing_of_it(self):
        manager = self.manager(str(self.place.folder / "notify"))
        target = self.start("heartbeat.py")
        daemon = self.daemon(env={**os.environ, "NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "1000000000"})
        self.begin(daemon, target.pid)
        environment = pathlib.Path(f"/proc/{daemon.collectors()[0]}/environ").read_bytes()
        self.assertNotIn(b"NOTIFY_SOCKET", environment)
        self.assertNotIn(b"WATCHDOG_USEC", environment)

    def test_a_manager_that_is_not_there_is_said_and_no_obstacle(self):
        for address in (str(self.place.folder / "nobody"), "vsock:2:1", "@" + "x" * 200):
            daemon = self.daemon(env={**os.environ, "NOTIFY_SOCKET": address})
            self.assertIn("event=not_reporting", daemon.words())
            self.assertEqual(daemon.end(), 0)


class Passed(LifeCase):
    def pass_on(self, kind, *more, path=None, **options):
        path = path or str(self.place.folder / "passed.sock")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.place.address = f"unix:{path}" if path[0] == "/" else f"unix-abstract:{path[1:]}"
        return self.daemon(*more, prefix=(sys.executable, PASSER, kind, path), **options)

    def test_is_taken_in_place_of_one_of_our_own(self):
        daemon = self.pass_on("stream")
        self.assertFalse(self.place.socket.exists())
        self.assertEqual(self.probe(daemon, "list").end(), [])
        self.assertIn(f"socket={self.place.folder}/passed.sock", daemon.words())
        target = self.start("heartbeat.py")
        self.begin(daemon, target.pid)
        environment = pathlib.Path(f"/proc/{daemon.collectors()[0]}/environ").read_bytes()
        self.assertNotIn(b"LISTEN_", environment)
        self.assertEqual(daemon.end(), 0)
        self.assertTrue((self.place.folder / "passed.sock").is_socket(), "the file is the manager's")
        self.assertUnharmed(target.pid)

    @needs_root
    def test_serves_every_user(self):
        daemon = self.pass_on("stream", "--multi-user")
        self.assertEqual(self.probe(daemon, "list", prefix=AS_USER).end(), [])
        own = subprocess.Popen([*AS_USER, "/usr/bin/python3", "-c", "print('ready', flush=True)\nwhile True: pass"],
                               stdout=subprocess.PIPE)
        self.addCleanup(own.stdout.close)
        self.addCleanup(own.wait)
        self.addCleanup(own.kill)
        own.stdout.readline()
        self.assertEqual(self.probe(daemon, "ask", own.pid, os.getpid(), prefix=AS_USER).end()[0], f"allowed {own.pid}")
        self.assertEqual(daemon.end(), 0)

    def test_an_owners_daemon_stays_the_owners(self):
        if os.getuid() == 0:
            daemon = self.pass_on("stream")
            said = self.probe(daemon, "list", prefix=AS_USER).end()[-1]
            self.assertTrue(said.startswith("error PERMISSION_DENIED"), said)

    def test_what_does_not_fit_is_named(self):
        for kind, words in (("datagram", "is not a stream socket"), ("network", "is not a Unix socket"),
                            ("silent", "is not listening"), ("file", "is not a socket"),
                            ("two", "passed 2 sockets (front:back)")):
            with self.subTest(kind):
                daemon = self.pass_on(kind, listening=False)
                self.assertEqual(daemon.process.wait(DEADLINE), 1, daemon.words())
                self.assertIn(words, daemon.words())
                self.assertIn("remedy=", daemon.words())
                self.assertIn("ListenStream=", daemon.words())

    def test_one_for_another_process_is_left_alone(self):
        daemon = self.pass_on("other")
        self.assertTrue(self.place.socket.is_socket())
        self.assertEqual(daemon.end(), 0)

    @unittest.skipUnless(shutil.which("systemd-socket-activate"), "no systemd-socket-activate")
    def test_by_systemd_itself(self):
        path = self.place.folder / "activated.sock"
        self.place.address = f"unix:{path}"
        daemon = self.daemon(prefix=(shutil.which("systemd-socket-activate"), "-l", path, "--"), listening=False)
        daemon.hear("Listening on")
        self.assertEqual(self.probe(daemon, "list").end(), [], "it is started by the first client, who waits")
        daemon.hear(f"socket={path}")
        self.assertEqual(daemon.end(), 0)


class Drained(LifeCase):
    def setUp(self):
        super().setUp()
        self.target = self.start("heartbeat.py")
        self.addCleanup(lambda: self.assertUnharmed(self.target.pid))

    def stop_collector(self, daemon):
        collector = daemon.collectors()[0]
        os.kill(collector, signal.SIGSTOP)
        return collector

    def test_nothing_new_begins_and_what_is_there_can_be_read(self):
        daemon = self.daemon("--drain-seconds", 600)
        name = self.begin(daemon, self.target.pid)
        follower = self.probe(daemon, "follow", name, self.place.folder / "followed.pftrace")
        watcher = self.probe(daemon, "watch", name)
        self.assertTrue(watcher.hear("STATE_RUNNING"))
        collector = self.stop_collector(daemon)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.hear("event=ending")
        self.assertTrue(watcher.hear("STATE_DRAINING"))
        for words in (("create", self.target.pid, 1), ("record", self.target.pid, 1, self.place.folder / "none")):
            refused = self.probe(daemon, *words).end()[-1]
            self.assertTrue(refused.startswith("error UNAVAILABLE ptrace-profd is shutting down"), refused)
            self.assertIn("[try again", refused)
        refused = self.probe(daemon, "ask", self.target.pid).end()[-1]
        self.assertEqual(refused, f"refused {self.target.pid} UNAVAILABLE DAEMON_ENDING")
        self.assertEqual(self.shown(daemon, name)[2], "STATE_DRAINING")
        early = self.place.folder / "early.pftrace"
        self.assertEqual(self.probe(daemon, "read", name, early).end(), [])
        self.assertGreater(early.stat().st_size, 0)
        os.kill(collector, signal.SIGCONT)
        self.assertEqual(daemon.process.wait(DEADLINE), 0, daemon.words())
        self.assertEqual(state_of(watcher.end()[-1]), "STATE_CANCELLED", watcher.lines)
        self.assertEqual((follower.end(), follower.status), (["last"], 0), "it was told that this is the end")
        self.assertIn("inner", self.functions(self.place.folder / "followed.pftrace"))
        self.assertNotIn("drain_hastened", daemon.words())

    def test_a_recording_says_why_it_ended_early(self):
        daemon = self.daemon()
        out = self.place.folder / "out.pftrace"
        record = subprocess.Popen([profiler.BINARY, "record", "--pid", str(self.target.pid), "--host", self.place.address,
                                   "-o", out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(record.kill)
        self.assertTrue(within_deadline(lambda: any(int(line.split()[3]) for line in self.probe(daemon, "list").end())))
        self.assertEqual(daemon.end(), 0)
        said, _ = record.communicate(timeout=DEADLINE)
        self.assertIn("ptrace-profd was shut down", said)
        self.assertIn("[DAEMON_ENDING]", said)
        self.assertNotEqual(record.returncode, 0, "it was to go on")
        self.assertIn("inner", self.functions(out))

    def test_is_over_in_time_whatever_a_collector_does(self):
        daemon = self.daemon("--drain-seconds", 1)
        name = self.begin(daemon, self.target.pid)
        watcher = self.probe(daemon, "watch", name)
        self.assertTrue(watcher.hear("STATE_RUNNING"))
        pids = daemon.processes()
        self.stop_collector(daemon)
        self.assertEqual(daemon.end(), 0, daemon.words())
        self.assertIn("event=drain_hastened captures=1", daemon.words())
        self.assertTrue(within_deadline(lambda: all(map(gone, pids))))
        last = watcher.end()[-1]
        self.assertTrue(state_of(last) == "STATE_CANCELLED" or last.startswith("error "), last)  # depends on its speed

    def test_without_time(self):
        daemon = self.daemon("--drain-seconds", 0)
        self.begin(daemon, self.target.pid)
        pids = daemon.processes()
        self.assertEqual(daemon.end(), 0, daemon.words())
        self.assertTrue(within_deadline(lambda: all(map(gone, pids))))


if __name__ == "__main__":
    case.main()

"""`ptrace-profd --metrics`: scraped by a real HTTP client, read by Prometheus' own parser where that is installed."""
import contextlib
import http.client
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import daemon as daemons  # noqa: E402
from support.profiler import must, run  # noqa: E402
from support.target_process import DEADLINE, harm  # noqa: E402
from support.terminal_run import PYTHON, TerminalCase, main  # noqa: E402

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|\+Inf|NaN)")
PARSE = """
import sys
from prometheus_client.parser import text_string_to_metric_families
print(sum(len(family.samples) for family in text_string_to_metric_families(sys.stdin.read())))
"""


def parse(case, text):
    """{(name, labels): value}; checks every rule of the format that matters."""
    values, kinds, current = {}, {}, None
    case.assertTrue(text.endswith("\n"))
    for line in text.splitlines():
        if comment := re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line):
            if comment[1] == "HELP":
                case.assertNotIn(comment[2], kinds, "a family comes once")
                current = comment[2]
            else:
                case.assertEqual(comment[2], current)
                kinds[current] = comment[3]
            continue
        sample = SAMPLE.fullmatch(line)
        case.assertIsNotNone(sample, line)
        family = re.sub("_(bucket|sum|count)$", "", sample[1]) if kinds.get(current) == "histogram" else sample[1]
        case.assertEqual(family, current, line)
        key = sample[1], sample[2] or ""
        case.assertNotIn(key, values)
        values[key] = float(sample[3])
    for name, kind in kinds.items():
        if kind == "histogram":
            counts = [value for (sample, _), value in values.items() if sample == name + "_bucket"]
            case.assertEqual(counts, sorted(counts))
            case.assertEqual(counts[-1], values[name + "_count", ""])
    return values


class Metrics(TerminalCase):
    ADDRESS = "127.0.0.1:0"

    def setUp(self):
        super().setUp()
        self.place = daemons.Place()
        self.addCleanup(self.place.close)
        if os.getuid() == 0:  # for the user that the daemon becomes
            self.place.spool = pathlib.Path("/var/tmp") / self.place.folder.name
            self.addCleanup(subprocess.run, ["rm", "-rf", self.place.spool])
        self.daemon = self.start(self.ADDRESS)
        self.address = re.search(r"event=metrics address=(\S+)", self.daemon.words())[1]

    def start(self, address, *options, **more):
        daemon = daemons.Daemon(self.place, "--socket", self.place.socket, "--spool", self.place.spool, "--metrics",
                                address, *options, **more)
        self.addCleanup(daemon.close)
        return daemon

    def connect(self):
        if self.address.startswith("unix:"):
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(DEADLINE)
            client.connect(self.address[5:])
            return client
        host, port = self.address.rsplit(":", 1)
        return socket.create_connection((host.strip("[]"), int(port)), DEADLINE)

    def ask(self, method="GET", path="/metrics"):
        connection = http.client.HTTPConnection("localhost", timeout=DEADLINE)
        connection.sock = self.connect()
        self.addCleanup(connection.close)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer, answer.read().decode()

    def scrape(self):
        answer, text = self.ask()
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        return parse(self, text)


class Figures(Metrics):
    def test_are_those_of_what_happened(self):
        target = self.spin()
        self.addCleanup(lambda: self.assertEqual(harm(target.pid), []))
        before = self.scrape()
        self.assertEqual(before["ptrace_prof_recorded_bytes_total", ""], 0)
        trace = self.folder / "run.pftrace"
        must("record", "--pid", target.pid, "-d", "0.3s", "-o", trace, "--host", self.place.address)
        must("dump", "--pid", target.pid, "--host", self.place.address)
        self.assertNotEqual(run("dump", "--pid", self.daemon.launcher, "--host", self.place.address).status, 0)
        key = "ptrace_prof_captures_total", 'what="record",result="succeeded"'
        self.assertTrue(daemons.within_deadline(lambda: self.scrape().get(key) == 1))
        after = self.scrape()
        self.assertEqual(after["ptrace_prof_captures_total", 'what="dump",result="succeeded"'], 1)
        self.assertEqual(after["ptrace_prof_captures_total", 'what="dump",result="failed"'], 1)
        self.assertGreater(after["ptrace_prof_recorded_bytes_total", ""], trace.stat().st_size - 1)
        self.assertGreater(after["ptrace_prof_samples_total", ""], 0)
        self.assertGreater(after["ptrace_prof_collector_cpu_seconds_total", ""], 0)
        self.assertEqual(after["ptrace_prof_attach_seconds_count", ""], 1)
        self.assertGreater(after["ptrace_prof_attach_seconds_sum", ""], 0)
        self.assertEqual(after["ptrace_prof_decisions_total", 'what="record",outcome="allowed"'], 1)
        self.assertGreater(after["process_resident_memory_bytes", ""], 1 << 20)
        self.assertGreater(after["process_open_fds", ""], 3)
        for name in ("process_cpu_seconds_total", "ptrace_prof_samples_total"):
            self.assertGreaterEqual(after[name, ""], before[name, ""])

    def test_of_one_that_goes_on(self):
        target = self.spin()
        capture = must("record", "--detach", "--pid", target.pid, "--host", self.place.address).output.strip()
        self.assertTrue(daemons.within_deadline(lambda: self.scrape()["ptrace_prof_captures", 'state="running"'] == 1))
        self.assertTrue(daemons.within_deadline(lambda: self.scrape()["ptrace_prof_spool_bytes", ""] > 0))
        must("captures", "cancel", capture, "--host", self.place.address)
        self.assertTrue(daemons.within_deadline(lambda: self.scrape()["ptrace_prof_captures", 'state="cancelled"'] == 1))
        self.assertEqual(self.scrape()["ptrace_prof_captures_total", 'what="record",result="cancelled"'], 1)

    @unittest.skipUnless(os.getuid() == 0, "only root can become others")
    def test_denials_have_their_reason(self):
        self.daemon.end()
        os.chmod(self.place.socket.parent, 0o755)
        self.daemon = self.start(self.ADDRESS, "--multi-user")
        self.address = re.search(r"event=metrics address=(\S+)", self.daemon.words())[1]
        target = self.spin()
        for _ in range(2):
            probe = self.daemon.probe("ask", target.pid, prefix=daemons.AS_USER)
            self.addCleanup(probe.close)
            probe.end()
        denied = [(labels, value) for (name, labels), value in self.scrape().items() if name == "ptrace_prof_denials_total"]
        self.assertEqual(denied, [('reason="CALLER_UID_MISMATCH"', 2)])

    def test_prometheus_reads_them(self):
        _, text = self.ask()
        known = subprocess.run([PYTHON, "-c", "import prometheus_client"], stderr=subprocess.DEVNULL)
        if known.returncode != 0:
            self.skipTest("python3-prometheus-client is not installed")
        read = subprocess.run([PYTHON, "-c", PARSE], input=text, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(read.stderr, "")
        self.assertEqual(int(read.stdout), len(parse(self, text)))

    def test_nobody_is_named_in_them(self):
        target = self.spin()
        must("dump", "--pid", target.pid, "--host", self.place.address)
        _, text = self.ask()
        for word in (str(target.pid), str(self.place.folder), "python"):
            self.assertNotIn(word, text)


class Server(Metrics):
    def raw(self, *pieces):
        with self.connect() as client:
            for piece in pieces:
                client.sendall(piece)
            received = b""
            while data := client.recv(1 << 16):
                received += data
        return received

    def test_other_requests(self):
        self.assertEqual(self.ask("HEAD")[0].status, 200)
        self.assertEqual(self.ask(path="/metrics?name=x")[0].status, 200)
        self.assertEqual(self.ask(path="/")[0].status, 404)
        self.assertEqual(self.ask(path="/metrics/../etc/passwd")[0].status, 404)
        answer, _ = self.ask("POST")
        self.assertEqual((answer.status, answer.headers["Allow"]), (405, "GET, HEAD"))
        self.assertTrue(self.raw(b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 "))
        self.assertTrue(self.raw(b"PRI * HTTP/2.0\r\n\r\n").startswith(b"HTTP/1.1 400 "))
        self.assertTrue(self.raw(b"GET /metrics HTTP/1.1\r\nA: " + b"x" * 8192).startswith(b"HTTP/1.1 431 "))
        self.assertTrue(self.raw(b"GET /met", b"rics HTTP/1.0\r", b"\n\r\n").startswith(b"HTTP/1.1 200 "))

    def test_who_is_silent_keeps_nobody_out(self):
        for _ in range(400):  # one after the other, they would time out only after a minute
            self.addCleanup(self.connect().close)
        self.scrape()

    def test_ends_with_the_daemon(self):
        silent = self.connect()
        self.addCleanup(silent.close)
        self.assertEqual(self.daemon.end(), 0)
        with contextlib.suppress(ConnectionResetError):  # a reset will do as well as an end
            self.assertEqual(silent.recv(1), b"")
        with self.assertRaises(OSError):
            self.connect()


class OverUnix(Metrics):
    def setUp(self):
        self.folder_of_socket = daemons.Place()
        self.addCleanup(self.folder_of_socket.close)
        self.path = self.folder_of_socket.folder / "run" / "metrics.sock"
        self.ADDRESS = f"unix:{self.path}"
        super().setUp()

    def test_is_for_its_owner_and_goes_with_the_daemon(self):
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        self.assertIn(("ptrace_prof_brief_captures", ""), self.scrape())
        self.assertEqual(self.daemon.end(), 0)
        self.assertTrue(daemons.within_deadline(lambda: not self.path.exists()))


class Addresses(unittest.TestCase):
    def setUp(self):
        self.place = daemons.Place()
        self.addCleanup(self.place.close)

    def start(self, *options, listening=False):
        spool = pathlib.Path("/var/tmp") / self.place.folder.name if os.getuid() == 0 else self.place.spool
        self.addCleanup(subprocess.run, ["rm", "-rf", spool])
        daemon = daemons.Daemon(self.place, "--socket", self.place.socket, "--spool", spool, *options, listening=listening)
        self.addCleanup(daemon.close)
        return daemon

    def test_others_than_of_this_machine_only_where_that_is_meant(self):
        for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:9465"):
            daemon = self.start("--metrics", address)
            self.assertNotEqual(daemon.process.wait(DEADLINE), 0)
            self.assertIn("--metrics-remote", daemon.words())
            self.assertFalse(self.place.socket.exists())
        daemon = self.start("--metrics", "0.0.0.0:0", "--metrics-remote", listening=True)
        self.assertRegex(daemon.words(), r"address=0\.0\.0\.0:[1-9]")
        self.assertEqual(daemon.end(signal.SIGTERM), 0)

    def test_what_is_none_is_refused(self):
        for address in ("9465", "127.0.0.1", "example.org:9465", "127.0.0.1:x", "127.0.0.1:70000", "::1:9465"):
            daemon = self.start("--metrics", address)
            self.assertNotEqual(daemon.process.wait(DEADLINE), 0, address)
            self.assertIn("is not a valid address", daemon.words())


if __name__ == "__main__":
    main()

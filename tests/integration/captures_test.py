"""Captures that a daemon keeps: they are started by `record --detach` and handled by `captures`."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import daemon as daemons  # noqa: E402
from support.profiler import must, run  # noqa: E402
from support.target_process import harm, status_fields  # noqa: E402
from support.terminal_run import TerminalCase, main  # noqa: E402


class CutConnections:
    """A proxy between client and daemon. It breaks `times` connections, each after `after` bytes to the client."""

    def __init__(self, folder, target, after=None, times=0):
        self.target, self._after, self._times = target, after, times
        self.cuts = 0
        self._open = []
        self._listener = socket.socket(socket.AF_UNIX)
        self.path = folder / "cut.sock"
        self._listener.bind(str(self.path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(str(self.target))
            except OSError:
                client.close()
                server.close()
                continue
            self._open += [client, server]
            threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client, server):
        there = threading.Thread(target=self._carry, args=(client, server, None), daemon=True)
        there.start()
        self._carry(server, client, self._after)
        there.join()
        client.close()
        server.close()

    def cut_now(self):
        """Breaks all open connections."""
        while self._open:
            with contextlib.suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def _carry(self, source, sink, most):
        carried = 0
        try:
            while data := source.recv(4096):
                carried += len(data)
                if most is not None and carried > most and self.cuts < self._times:
                    self.cuts += 1
                    break
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.path.unlink()


class CapturesCase(TerminalCase):
    def setUp(self):
        super().setUp()
        self.place = daemons.Place()
        self.addCleanup(self.place.close)
        self.daemon = daemons.Daemon(self.place)
        self.addCleanup(self.daemon.close)
        self.target = self.spin()
        self.addCleanup(lambda: self.assertEqual(harm(self.target.pid), []))

    def captures(self, *words, host=None):
        return run("captures", *words, "--host", host or self.place.address)

    def did(self, *words, **options):
        finished = self.captures(*words, **options)
        self.assertEqual(finished.status, 0, str(finished))
        return finished

    def begin(self, *options):
        """The ID of a capture that has begun."""
        finished = must("record", "--detach", "--pid", self.target.pid, "--host", self.place.address, *options)
        self.assertRegex(finished.output, r"\A[a-z0-9-]+\n\Z")
        return finished.output.strip()

    def listed(self):
        document = json.loads(self.did("list", "--json").output)
        self.assertEqual(document["schema"], "ptrace-prof.captures/1")
        return {capture["id"]: capture for capture in document["captures"]}

    def has_samples(self, capture, at_least=1):
        self.assertTrue(daemons.within_deadline(lambda: self.listed()[capture]["samples"] >= at_least))


class Life(CapturesCase):
    def test_of_one_that_ends_by_itself(self):
        capture = self.begin("-d", "1s")
        self.assertIn(capture, self.did("list").output)
        watched = self.did("watch", capture).output.splitlines()
        self.assertRegex(watched[-1], r"\Asucceeded ")
        self.assertRegex(watched[0], r"\A(running|succeeded) ")
        self.assertEqual(self.listed()[capture]["state"], "succeeded")
        self.assertGreater(self.listed()[capture]["samples"], 0)
        out = self.folder / "out.collapsed"
        self.did("fetch", capture[:6], "-o", out)
        self.assertIn("spin", out.read_text())
        self.assertEqual(self.files(), ["out.collapsed"])
        self.did("delete", capture[:6])
        self.assertEqual(self.listed(), {})
        self.assertEqual(self.captures("watch", capture).status, 3)

    def test_of_one_that_chooses_its_mode(self):
        capture = self.begin("-d", "300ms", "--mode", "auto")
        self.did("watch", capture)
        listed = self.listed()[capture]
        self.assertIn(listed["mode"], ("sample", "trace"))
        self.assertEqual(listed["sampled_because"] != "", listed["mode"] == "sample", listed)
        plain = self.begin("-d", "100ms")
        self.did("watch", plain)
        self.assertEqual((self.listed()[plain]["mode"], self.listed()[plain]["sampled_because"]), ("sample", ""))

    def test_of_one_that_is_cancelled(self):
        capture = self.begin()
        watching = self.ptrace_prof("captures", "watch", capture, "--json", "--host", self.place.address,
                                    stdout=subprocess.PIPE)
        self.addCleanup(watching.process.stdout.close)
        self.assertEqual(json.loads(watching.process.stdout.readline())["state"], "running")
        self.has_samples(capture)
        self.did("cancel", capture)
        states = [json.loads(line)["state"] for line in watching.process.stdout]
        self.assertEqual(states[-1], "cancelled")
        self.assertEqual(watching.end(), 130)
        self.assertIn("has ended already", self.did("cancel", capture).errors)
        self.assertEqual(self.listed()[capture]["end"], "cancelled")
        self.assertRegex(self.did("list").output, r"(?m) cancelled$")
        out = self.folder / "out.collapsed"
        self.did("fetch", capture, "-o", out)
        self.assertIn("spin", out.read_text())
        self.assertTrue(daemons.within_deadline(lambda: self.daemon.collectors() == []))

    def test_deleting_one_that_goes_on_needs_force(self):
        capture = self.begin()
        refused = self.captures("delete", capture)
        self.assertEqual(refused.status, 2, str(refused))
        self.assertIn("--force", refused.errors)
        self.assertEqual(self.listed()[capture]["state"], "running")
        self.did("delete", capture, "--force")
        self.assertTrue(daemons.within_deadline(lambda: self.listed() == {} and self.daemon.collectors() == []))

    def test_the_end_of_the_target(self):
        target = self.spin()
        capture = must("record", "--detach", "--pid", target.pid, "--host", self.place.address).output.strip()
        self.has_samples(capture)
        target.kill()
        target.wait()
        self.assertEqual(self.captures("watch", capture).status, 0)
        self.assertNotEqual(self.listed()[capture]["end"], "")


class Fetching(CapturesCase):
    def test_now_and_at_the_end(self):
        capture = self.begin()
        self.has_samples(capture)
        now = self.did("fetch", capture, "-o", self.folder / "now.pftrace")
        self.assertIn("is still running", now.errors)
        following = self.ptrace_prof("captures", "fetch", capture, "--follow", "-o", self.folder / "all.pftrace", "--host",
                                     self.place.address)
        following.hear("fetching")
        self.did("cancel", capture)
        self.assertEqual(following.end(), 0, following.words())
        first, whole = ((self.folder / f"{name}.pftrace").read_bytes() for name in ("now", "all"))
        self.assertTrue(whole.startswith(first))
        self.assertEqual(len(whole), self.listed()[capture]["trace_bytes"])

    def test_interrupt_ends_the_waiting_only(self):
        capture = self.begin()
        following = self.ptrace_prof("captures", "fetch", capture, "--follow", "-o", self.folder / "x.collapsed", "--host",
                                     self.place.address)
        following.hear("fetching")
        self.has_samples(capture)
        following.process.send_signal(signal.SIGINT)
        self.assertEqual(following.end(), 0, following.words())
        self.assertEqual(self.files(), ["x.collapsed"])
        self.assertEqual(self.listed()[capture]["state"], "running")

    def test_interrupt_while_the_daemon_does_not_answer(self):
        parts = (self.daemon.launcher, self.daemon.pid)
        for part in parts:
            os.kill(part, signal.SIGSTOP)
            self.addCleanup(os.kill, part, signal.SIGCONT)
        waiting = self.ptrace_prof("record", "--pid", self.target.pid, "-o", self.folder / "x.html", "--host", self.place.address)

        def takes_interrupts():
            return int(status_fields(waiting.process.pid)["SigCgt"], 16) & 1 << signal.SIGINT - 1

        self.assertTrue(daemons.within_deadline(takes_interrupts))
        waiting.process.send_signal(signal.SIGINT)
        self.assertEqual(waiting.end(), 130, waiting.words())
        self.assertIn("aborted before", waiting.words())
        self.assertEqual(self.files(), [])

    def test_goes_on_after_a_broken_connection(self):
        capture = self.begin("--rate", "2000", "--max-overhead", "off")
        cutter = CutConnections(self.folder, self.place.socket, after=16_000, times=3)
        self.addCleanup(cutter.close)
        following = self.ptrace_prof("captures", "fetch", capture, "--follow", "-o", self.folder / "cut.pftrace", "--host",
                                     f"unix:{cutter.path}")
        following.hear("fetching")
        self.assertTrue(daemons.within_deadline(lambda: cutter.cuts == 3), following.words())
        self.did("cancel", capture)
        self.assertEqual(following.end(), 0, following.words())
        self.did("fetch", capture, "-o", self.folder / "direct.pftrace")
        self.assertEqual((self.folder / "cut.pftrace").read_bytes(), (self.folder / "direct.pftrace").read_bytes())

    def test_keeps_what_came_when_the_daemon_dies(self):
        capture = self.begin()
        following = self.ptrace_prof("captures", "fetch", capture, "--follow", "-o", self.folder / "x.collapsed", "--host",
                                     self.place.address)
        following.hear("fetching")
        spool = self.folder / "x.collapsed.pftrace.tmp"
        self.has_samples(capture, 100)
        size = self.listed()[capture]["trace_bytes"]
        self.assertTrue(daemons.within_deadline(lambda: spool.stat().st_size >= size))
        self.daemon.end(signal.SIGKILL)
        self.assertEqual(following.end(), 1, following.words())
        self.assertRegex(following.words(), r"(?m)^error: .")
        self.assertIn("spin", (self.folder / "x.collapsed").read_text())
        self.assertEqual(self.files(), ["x.collapsed"])


class BrokenConnections(CapturesCase):
    def cutter(self, **when):
        cutter = CutConnections(self.folder, self.place.socket, **when)
        self.addCleanup(cutter.close)
        return cutter

    def watching(self, capture, host):
        watching = self.ptrace_prof("captures", "watch", capture, "--json", "--host", host, stdout=subprocess.PIPE)
        self.addCleanup(watching.process.stdout.close)
        self.assertEqual(json.loads(watching.process.stdout.readline())["state"], "running")
        return watching

    def test_a_capture_is_begun_once_wherever_the_connection_breaks(self):
        begun_after_a_cut = 0
        for after in range(0, 1500, 100):
            cutter = CutConnections(self.folder, self.place.socket, after=after, times=1)
            finished = run("record", "--detach", "--pid", self.target.pid, "--host", f"unix:{cutter.path}")
            cutter.close()
            captures = self.listed()
            with self.subTest(after=after):
                if finished.status == 0:
                    self.assertEqual([finished.output.strip()], list(captures))
                else:  # the request never reached the daemon
                    self.assertEqual(captures, {})
                    self.assertIn("cannot connect", finished.errors)
            begun_after_a_cut += finished.status == 0 and cutter.cuts
            for capture in captures:
                self.did("delete", "--force", capture)
        self.assertGreater(begun_after_a_cut, 0)

    def test_watching_goes_on_after_it(self):
        capture = self.begin()
        cutter = self.cutter()
        watching = self.watching(capture, f"unix:{cutter.path}")
        for _ in range(3):
            cutter.cut_now()
            watching.hear("the connection to the daemon is lost")
            watching.hear("connected again")
        self.did("cancel", capture)
        states = [json.loads(line)["state"] for line in watching.process.stdout]
        self.assertEqual(states[-1], "cancelled")
        self.assertEqual(watching.end(), 130, watching.words())

    def test_watching_ends_when_the_daemon_stays_away(self):
        watching = self.watching(self.begin(), self.place.address)
        self.daemon.end(signal.SIGKILL)
        self.assertEqual(watching.end(), 9, watching.words())
        self.assertEqual(watching.words().count("the connection to the daemon is lost"), 1)
        self.assertEqual(watching.words().count("trying again"), 5)
        self.assertRegex(watching.words(), "(?m)^error: the daemon is still unreachable: .*\n^hint: check that the daemon is running")

    def test_watching_ends_when_another_daemon_comes(self):
        capture = self.begin()
        cutter = self.cutter()
        watching = self.watching(capture, f"unix:{cutter.path}")
        other = daemons.Place()
        self.addCleanup(other.close)
        self.addCleanup(daemons.Daemon(other).close)
        cutter.target = other.socket
        cutter.cut_now()
        self.assertEqual(watching.end(), 3, watching.words())
        self.assertIn(f"capture {capture} is gone: its daemon has ended", watching.words())


class Refusals(CapturesCase):
    def test_without_a_daemon(self):
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder)}
        environment.pop("PTRACE_PROF_HOST", None)
        for words in (["record", "--detach", "--pid", self.target.pid, "--host", "none"], ["captures", "list", "--host", "none"]):
            finished = self.ptrace_prof(*words, env=environment)
            self.assertEqual(finished.end(), 9, finished.words())
            self.assertIn("captures need a running ptrace-profd", finished.words())
            self.assertIn("hint: ", finished.words())

    def test_detach_with_what_it_cannot_do(self):
        host = ("--host", self.place.address)
        self.refuse(2, "record", "--detach", "--pid", self.target.pid, "-o", "x.html", *host, says=["captures fetch"])
        self.refuse(2, "record", "--detach", *host, "--", "true", says=["--detach"])

    def test_detach_of_no_python_leaves_nothing(self):
        other = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(self._end, other)
        self.refuse(5, "record", "--detach", "--pid", other.pid, "--host", self.place.address, says=["sleep"], hints=False)
        self.assertEqual(self.listed(), {})

    def test_ids(self):
        first, second = self.begin(), self.begin()
        common = os.path.commonprefix([first, second])
        said = self.refuse(2, "captures", "cancel", common, "--host", self.place.address, says=[first, second])
        self.assertTrue(re.search("matches 2 captures", said), said)
        self.refuse(3, "captures", "fetch", "nosuch", "--host", self.place.address, says=["nosuch", "captures list"])
        for words in (["captures"], ["captures", "frob"], ["captures", "watch"]):
            self.refuse(2, *words)
        for capture in (first, second):
            self.did("delete", "--force", capture)


if __name__ == "__main__":
    main()

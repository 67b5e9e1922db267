"""ptrace-profd as a process: its socket, its rights, its start and its end, and what remains when one of its parts
dies."""
import os
import pathlib
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.daemon import AS_USER, BINARY, USER, Daemon, Place, gone, state_of, within_deadline  # noqa: E402
from support.daemon_kills import Kills, combinations  # noqa: E402
from support.http2_client import Client, call  # noqa: E402
from support.http2_garbage import DATA, HEADERS, frame  # noqa: E402
from support.target_process import status_fields  # noqa: E402

needs_root = unittest.skipUnless(os.getuid() == 0, "only root can become others")
CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def cap(*bits):
    return sum(1 << bit for bit in bits)


class DaemonCase(case.Case):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)

    def daemon(self, *options, **more):
        daemon = Daemon(self.place, *options, **more)
        self.addCleanup(daemon.close)
        return daemon

    def probe(self, daemon, *words, **more):
        probe = daemon.probe(*words, **more)
        self.addCleanup(probe.close)
        return probe

    def record(self, daemon, pid, name, prefix=()):
        """Records a process for a moment; returns the functions seen."""
        trace = self.place.folder / f"{name}.pftrace"
        last = self.probe(daemon, "record", pid, 0.3, trace, prefix=prefix).end()[-1]
        self.assertEqual(state_of(last), "STATE_SUCCEEDED", last)
        return profiler.must("export", trace, "--format", "collapsed", "-o", "-").output

    def assertNothingLeft(self, pids):
        self.assertTrue(within_deadline(lambda: all(map(gone, pids))), [pid for pid in pids if not gone(pid)])


class Socket(DaemonCase):
    def test_is_for_its_owner_only(self):
        daemon = self.daemon()
        there = self.place.socket.lstat()
        self.assertTrue(stat.S_ISSOCK(there.st_mode))
        self.assertEqual(stat.S_IMODE(there.st_mode), 0o600)
        self.assertEqual(there.st_uid, os.getuid())
        self.assertEqual(stat.S_IMODE(self.place.socket.parent.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(self.place.spool.stat().st_mode), 0o700)
        self.assertEqual(daemon.end(), 0)

    @needs_root
    def test_another_user_cannot_connect(self):
        daemon = self.daemon()
        os.chmod(self.place.socket.parent, 0o755)
        said = self.probe(daemon, "list", prefix=AS_USER).end()[-1]
        self.assertTrue(said.startswith("error PERMISSION_DENIED"), said)
        os.chmod(self.place.socket, 0o666)  # even then
        said = self.probe(daemon, "list", prefix=AS_USER).end()[-1]
        self.assertTrue(said.startswith("error PERMISSION_DENIED"), said)
        self.assertIn("--multi-user", said)
        daemon.hear("event=connection_refused")
        self.assertIn(f"user {USER} ", daemon.words())

    @needs_root
    def test_who_knocks_very_often_does_not_fill_the_log(self):
        daemon = self.daemon()
        os.chmod(self.place.socket.parent, 0o755)
        os.chmod(self.place.socket, 0o666)
        knocks = 500
        knock = (f"import socket\nfor _ in range({knocks}): one = socket.socket(socket.AF_UNIX); one.connect({str(self.place.socket)!r}); "
                 "one.close()")
        begin = time.monotonic()
        subprocess.run([*AS_USER, sys.executable, "-I", "-S", "-c", knock], check=True)

        def told():
            lines = [line for line in daemon.words().splitlines() if "event=connection_refused" in line]
            return len(lines), len(lines) + sum(map(int, re.findall(r"and (\d+) others before", "".join(lines))))

        # A later line counts the refusals that had no line of their own.
        self.assertTrue(within_deadline(lambda: bool(self.probe(daemon, "list", prefix=AS_USER).end()) and told()[1] > knocks))
        self.assertLess(told()[0], 10 * (2 + time.monotonic() - begin))
        self.assertEqual(self.probe(daemon, "list").end(), [])

    @needs_root
    def test_root_may_use_the_daemon_of_a_user(self):
        daemon = self.daemon(prefix=AS_USER)
        self.assertEqual(self.probe(daemon, "list").end(), [])

    def test_a_second_daemon_is_refused(self):
        first = self.daemon()
        second = self.daemon(listening=False)
        self.assertEqual(second.process.wait(), 1)
        self.assertIn("another server answers at", second.words())
        probe = self.probe(first, "list")
        probe.end()
        self.assertEqual(probe.status, 0, "the first one serves on")

    def test_what_a_killed_one_left_is_no_obstacle(self):
        first = self.daemon()
        pids = first.processes()
        os.kill(first.launcher, signal.SIGKILL)  # it would tidy up
        first.process.kill()
        first.process.wait()
        self.assertTrue(self.place.socket.exists())
        self.assertNothingLeft(pids)
        second = self.daemon()
        self.assertEqual(self.probe(second, "list").end(), [])

    def test_the_file_goes_with_the_daemon(self, prefix=()):
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = self.daemon(prefix=prefix)
            self.assertTrue(self.place.socket.is_socket())
            self.assertEqual(daemon.end(number), 0)
            self.assertFalse(self.place.socket.exists())
        daemon = self.daemon(prefix=prefix)
        self.assertEqual(daemon.end(signal.SIGKILL), -signal.SIGKILL)
        self.assertTrue(within_deadline(lambda: not self.place.socket.exists()), "the launcher outlives it for that")

    @needs_root
    def test_the_file_goes_with_the_daemon_of_a_user(self):
        self.test_the_file_goes_with_the_daemon(AS_USER)

    def test_the_file_of_another_stays(self):
        daemon = self.daemon()
        self.place.socket.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(self.place.socket))
            other.listen()
            self.assertEqual(daemon.end(), 0)
            self.assertTrue(self.place.socket.is_socket())
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(self.place.socket))

    def test_a_relative_path_is_found_again_at_the_end(self):
        daemon = self.daemon("--socket", os.path.relpath(self.place.socket, "/"), "--spool", self.place.spool)
        self.assertTrue(self.place.socket.is_socket())
        self.assertEqual(daemon.end(), 0)
        self.assertFalse(self.place.socket.exists())

    def test_says_what_is_wrong_with_a_path(self):
        for path, words in ((self.place.folder / ("x" * 200), "longer than 107 bytes"),
                            (self.place.folder / "no" / "such" / "folder", "cannot make the folder"),
                            (self.place.folder, "exists and is not a socket")):
            with self.subTest(words):
                daemon = self.daemon("--socket", path, "--spool", self.place.spool, listening=False)
                self.assertEqual(daemon.process.wait(), 1)
                self.assertIn(words, daemon.words())
                self.assertIn("remedy=", daemon.words())

    @needs_root
    def test_default_of_a_user(self):
        environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
        without = self.daemon("--spool", self.place.spool, prefix=AS_USER, env=environment, listening=False)
        self.assertEqual(without.process.wait(), 2)
        self.assertIn("XDG_RUNTIME_DIR is not set", without.words())
        environment["XDG_RUNTIME_DIR"] = str(self.place.folder)
        self.daemon("--spool", self.place.spool, prefix=AS_USER, env=environment)
        self.assertTrue((self.place.folder / "ptrace-prof" / "ptrace-prof.sock").is_socket())


class Rights(DaemonCase):
    @needs_root
    def test_of_each_process_when_root_starts_it(self):
        target = self.start("heartbeat.py")
        daemon = self.daemon()
        seen = status_fields(daemon.pid)
        self.assertNotIn("0", seen["Uid"].split())
        self.assertNotIn("0", seen["Gid"].split())
        self.assertEqual([int(seen[name], 16) for name in CAPABILITY_SETS], [0] * 5)
        self.assertEqual(seen["NoNewPrivs"], "1")
        within_deadline(lambda: status_fields(daemon.launcher)["NoNewPrivs"] == "1")  # it may be on its way there
        launcher = status_fields(daemon.launcher)
        kept = cap(2, 5, 6, 7, 8, 19, 40)  # DAC_READ_SEARCH KILL SETGID SETUID SETPCAP SYS_PTRACE CHECKPOINT_RESTORE
        self.assertEqual(int(launcher["CapBnd"], 16) & ~kept, 0)
        self.assertEqual(int(launcher["CapPrm"], 16) & ~kept, 0)
        self.assertEqual(launcher["NoNewPrivs"], "1")
        probe = self.probe(daemon, "record", target.pid, 1000, self.place.folder / "x")
        self.assertTrue(probe.hear("STATE_RUNNING"), probe.lines)
        self.assertTrue(daemon.collectors())
        for collector in daemon.collectors():
            seen = status_fields(collector)
            self.assertEqual(seen["Seccomp"], "2")
            self.assertEqual(seen["CapBnd"].strip("0"), "")
        daemon.end()

    @needs_root
    def test_a_user_gets_collectors_of_that_user(self):
        target = self.start_as_user()
        daemon = self.daemon(prefix=AS_USER)
        probe = self.probe(daemon, "record", target.pid, 1000, self.place.folder / "x", prefix=AS_USER)
        self.assertTrue(probe.hear("STATE_RUNNING"), probe.lines)
        for pid in daemon.processes():
            seen = status_fields(pid)
            self.assertEqual(seen["Uid"].split(), [str(USER)] * 4)
            self.assertEqual(int(seen["CapPrm"], 16), 0)
        daemon.end()

    @needs_root
    def test_a_user_does_not_get_at_a_process_of_roots(self):
        target = self.start("heartbeat.py")
        daemon = self.daemon(prefix=AS_USER)
        last = self.probe(daemon, "record", target.pid, 1, self.place.folder / "x", prefix=AS_USER).end()[-1]
        self.assertIn("PERMISSION_DENIED" if last.startswith("error") else "STATE_FAILED", last)
        self.assertUnharmed(target.pid)

    def test_a_spool_of_somebody_elses_is_refused(self):
        self.place.spool.mkdir(mode=0o755)
        os.chmod(self.place.spool, 0o755)
        daemon = self.daemon(listening=False)
        self.assertEqual(daemon.process.wait(), 1)
        self.assertIn("with mode 700", daemon.words())

    def start_as_user(self):
        """A Python process that belongs to the user."""
        process = subprocess.Popen([*AS_USER, "/usr/bin/python3", "-c", "print('ready', flush=True)\nwhile True: pass"],
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        return process


class Service(DaemonCase):
    def test_records(self):
        target = self.start("heartbeat.py")
        daemon = self.daemon()
        self.assertIn("inner", self.record(daemon, target.pid, "one"))
        self.assertRegex(daemon.words(), f"event=collector_started uid={os.getuid()} caller=[0-9]+ verb=record "
                                         f"target={target.pid}\n")
        self.assertUnharmed(target.pid)
        self.assertEqual(daemon.end(), 0)

    def test_limits(self):
        target = self.start("heartbeat.py")
        daemon = self.daemon("--socket", self.place.socket, "--spool", self.place.spool, "--max-captures", 1,
                             "--max-duration", "200ms")
        first = self.probe(daemon, "record", target.pid, 0, self.place.folder / "x")
        self.assertTrue(first.hear("STATE_PENDING"))
        self.assertEqual(state_of(first.end()[-1]), "STATE_SUCCEEDED")  # after 200 ms
        too_long = self.probe(daemon, "create", target.pid, 1000).end()[-1]
        self.assertTrue(too_long.startswith("error RESOURCE_EXHAUSTED"), too_long)
        self.assertIn("the limit for a capture is 0.2 s", too_long)
        waiting = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(waiting.wait)
        self.addCleanup(waiting.kill)
        going_on = self.probe(daemon, "create", f"wait:{waiting.pid}", 0)
        going_on.end()
        refused = self.probe(daemon, "create", target.pid, 1).end()[-1]
        self.assertTrue(refused.startswith("error RESOURCE_EXHAUSTED"), refused)

    def test_who_waits_for_a_launcher_that_hangs_holds_up_nobody(self):
        target = self.start("heartbeat.py")
        daemon = self.daemon()
        client = Client(self.place.socket)  # a stopped launcher accepts no connection
        self.addCleanup(client.close)
        launcher = daemon.launcher
        os.kill(launcher, signal.SIGSTOP)
        self.addCleanup(lambda: gone(launcher) or os.kill(launcher, signal.SIGCONT))
        pid = bytes([target.pid & 127 | 128, target.pid >> 7 & 127 | 128, target.pid >> 14 & 127])
        request = b"\x0a" + bytes([len(pid) + 1]) + b"\x08" + pid
        capture = b"/ptraceprof.v1.CaptureService/"
        starts = ((capture + b"DumpStacks", request), (capture + b"ListProcesses", b""),
                  (capture + b"CreateCapture", b"\x0a" + bytes([len(request)]) + request),
                  (capture + b"Record", b"\x0a" + bytes([len(request)]) + request),
                  (capture + b"StreamSamples", b"\x0a" + bytes([len(request)]) + request))
        waiting = {}
        for stream in range(1, 41, 2):
            method, message = starts[stream // 2 % len(starts)]
            waiting[stream] = method
            client.begin(stream, call(method))
            client.say(frame(DATA, 1, stream, b"\0" + struct.pack(">I", len(message)) + message))
        for stream, method in ((51, capture + b"ListCaptures"), (53, b"/ptraceprof.v1.NodeService/GetDaemonStatus")):
            client.begin(stream, call(method))
            client.say(frame(DATA, 1, stream, b"\0\0\0\0\0"))
        ended = []
        for kind, flags, stream, _ in client.frames(lambda one: one[2] in (51, 53) and one[0] == HEADERS and one[1] & 1):
            if kind == HEADERS and flags & 1:
                ended.append(stream)
        self.assertEqual([waiting.get(stream) for stream in ended], [None] * len(ended))
        os.kill(launcher, signal.SIGCONT)
        client.close()  # with the connection all of them end
        self.assertTrue(within_deadline(lambda: not daemon.collectors()))
        self.assertUnharmed(target.pid)
        self.assertEqual(daemon.end(), 0)

    def test_garbage_hurts_nobody(self):
        daemon = self.daemon()
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 4096, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 1024):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(self.place.socket))
                client.sendall(garbage)
        self.assertEqual(self.probe(daemon, "list").end(), [])
        self.assertEqual(daemon.end(), 0)


    def test_what_is_no_message_is_said_in_the_log_alone(self):
        daemon = self.daemon()
        bad_name = "0a02fffe"  # field 1, two bytes that are not UTF-8
        said = self.probe(daemon, "raw", "/ptraceprof.v1.CaptureService/GetCapture", bad_name).end()[-1]
        self.assertTrue(said.startswith("error "), said)
        daemon.hear("event=library_said library=protobuf")
        for line in daemon.words().splitlines():
            self.assertTrue(line.startswith("time="), line)
        self.assertEqual(self.probe(daemon, "list").end(), [])
        self.assertEqual(daemon.end(), 0)


class End(DaemonCase):
    def test_signals_drain(self):
        target = self.start("heartbeat.py")
        for number in (signal.SIGTERM, signal.SIGINT):
            daemon = self.daemon()
            probe = self.probe(daemon, "record", target.pid, 1000, self.place.folder / "x.pftrace")
            self.assertTrue(probe.hear("STATE_RUNNING"))
            pids = daemon.processes()
            self.assertEqual(len(pids), 3, "the daemon, its launcher, a collector")
            read = ("export", self.place.folder / "x.pftrace", "--format", "collapsed", "-o", "-")
            self.assertTrue(within_deadline(lambda: "inner" in profiler.run(*read).output))
            self.assertEqual(daemon.end(number), 0, daemon.words())
            last = probe.end()[-1]
            self.assertTrue(state_of(last) == "STATE_CANCELLED" or last.startswith("error UNAVAILABLE"), last)
            self.assertIn("inner", profiler.must(*read).output)
            self.assertNothingLeft(pids)
            self.assertUnharmed(target.pid)

    def test_a_second_signal_ends_at_once(self):
        target = self.start("heartbeat.py")
        daemon = self.daemon()
        probe = self.probe(daemon, "record", target.pid, 1000, self.place.folder / "x.pftrace")
        self.assertTrue(probe.hear("STATE_RUNNING"))
        pids = daemon.processes()
        collector = daemon.collectors()[0]
        os.kill(collector, signal.SIGSTOP)  # so that draining takes a while
        daemon.process.send_signal(signal.SIGTERM)
        daemon.hear("event=ending")
        within_deadline(lambda: int(status_fields(daemon.pid)["SigBlk"], 16) & cap(signal.SIGTERM - 1) == 0)
        self.assertEqual(daemon.end(), -signal.SIGTERM)
        self.assertNothingLeft(pids)  # the launcher does not leave a stopped collector behind either
        self.assertUnharmed(target.pid)

    def test_help_and_version_need_nothing(self):
        for option, word in (("--help", "--socket"), ("--version", "ptrace-profd ")):
            done = subprocess.run([BINARY, option], capture_output=True, text=True, env={}, check=True)
            self.assertIn(word, done.stdout)
        done = subprocess.run([BINARY, "--no-such-option"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--help", done.stderr)


class Deaths(DaemonCase):
    def test_of_each_part_in_each_state(self):
        target = self.start("heartbeat.py")
        kills = Kills(self.place, target)
        self.addCleanup(lambda: kills.close())
        for victim, state in combinations():
            with self.subTest(victim=victim, state=state):
                self.assertEqual(kills.once(victim, state), [])

    def test_without_the_launcher_the_captures_end_well_and_who_started_it_is_told(self):
        target = self.start("heartbeat.py")
        daemon = self.daemon()
        trace = self.place.folder / "x.pftrace"
        probe = self.probe(daemon, "record", target.pid, 1000, trace)
        self.assertTrue(probe.hear("STATE_RUNNING"))
        pids = daemon.processes()
        os.kill(daemon.launcher, signal.SIGKILL)
        last = probe.end()[-1]
        self.assertTrue(last.startswith("error UNAVAILABLE"), last)
        self.assertIn("inner", profiler.must("export", trace, "--format", "collapsed", "-o", "-").output)
        self.assertEqual(daemon.process.wait(), 1, "systemd starts anew what did not end well")
        self.assertIn("the launcher, which starts the collectors, has ended", daemon.words())
        self.assertNothingLeft(pids)
        again = self.daemon()
        self.assertEqual(state_of(self.probe(again, "record", target.pid, 0.1, trace).end()[-1]), "STATE_SUCCEEDED")


if __name__ == "__main__":
    case.main()

"""What ptrace-profd keeps on disk: captures that outlive it, which of them it deletes to save space, and disks that
fail."""
import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.daemon import AS_USER, Daemon, Place, gone, state_of, within_deadline  # noqa: E402

needs_root = unittest.skipUnless(os.getuid() == 0, "only root can mount, and become others")
FAILING_DISK = pathlib.Path(__file__).resolve().parent.parent / "support" / "failing_disk.py"


class SpoolCase(case.Case):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)
        self.target = self.start("heartbeat.py")
        self.addCleanup(lambda: self.assertUnharmed(self.target.pid))

    def daemon(self, *more, **options):
        words = ("--socket", self.place.socket, "--spool", self.place.spool, *more)
        daemon = Daemon(self.place, *words, **options)
        self.addCleanup(daemon.close)
        return daemon

    def kill(self, daemon):
        """Kills the daemon; all its processes must end."""
        pids = daemon.processes()
        self.assertEqual(daemon.end(signal.SIGKILL), -signal.SIGKILL)
        self.assertTrue(within_deadline(lambda: all(map(gone, pids))))

    def probe(self, daemon, *words, **more):
        probe = daemon.probe(*words, **more)
        self.addCleanup(probe.close)
        return probe

    def list(self, daemon, **more):
        """{name: [state, bytes, message]}"""
        lines = [line.split(maxsplit=4) for line in self.probe(daemon, "list", **more).end()]
        return {words[1]: [*words[2:], ""] for words in lines}

    def begin(self, daemon, seconds=1000, pid=None):
        line = self.probe(daemon, "create", pid or self.target.pid, seconds).end()[-1]
        self.assertTrue(line.startswith("capture "), line)
        name = line.split()[1]
        self.assertTrue(within_deadline(lambda: int(self.list(daemon)[name][1]) > 0))
        return name

    def record(self, daemon, seconds=0.2):
        """The name of a capture that has succeeded."""
        name = self.begin(daemon, seconds)
        last = self.probe(daemon, "watch", name).end()[-1]
        self.assertEqual(state_of(last), "STATE_SUCCEEDED", last)
        return name

    def functions(self, daemon, name):
        trace = self.place.folder / "read.pftrace"
        self.assertEqual(self.probe(daemon, "read", name, trace).end(), [])
        return profiler.must("export", trace, "--format", "collapsed", "-o", "-").output

    def files(self, suffix=""):
        return sorted(path.name for path in self.place.spool.iterdir() if path.name.endswith(suffix))


class Restarted(SpoolCase):
    def test_what_went_on_has_failed_and_its_trace_is_there(self):
        first = self.daemon()
        names = [self.begin(first) for _ in range(3)]
        for name in names:
            self.assertTrue(within_deadline(lambda: "inner" in self.functions(first, name)))
        self.kill(first)
        second = self.daemon()
        self.assertIn("event=restored captures=3 interrupted=3", second.words())
        listed = self.list(second)
        self.assertEqual(sorted(listed), sorted(names))
        for name in names:
            self.assertEqual(listed[name][0], "STATE_FAILED")
            self.assertIn("ended unexpectedly", listed[name][2])
            self.assertGreater(int(listed[name][1]), 0)
            self.assertIn("inner", self.functions(second, name))
        self.assertEqual(second.end(), 0)
        third = self.daemon()
        self.assertIn("event=restored captures=3 interrupted=0", third.words())
        self.assertEqual(self.list(third), listed)

    def test_the_reason_is_a_word_for_programs(self):
        first = self.daemon()
        self.begin(first)
        self.kill(first)
        self.daemon()
        told = profiler.run("captures", "list", "--json", "--host", self.place.address)
        self.assertIn("DAEMON_RESTARTED", told.output)

    def test_what_had_ended_is_as_it_was(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                first = self.daemon()
                name = self.record(first)
                listed = self.list(first)
                functions = self.functions(first, name)
                self.assertTrue(within_deadline(
                    lambda: b'"succeeded"' in (self.place.spool / f"{name.split('/')[-1]}.json").read_bytes()))
                if number == signal.SIGKILL:
                    self.kill(first)
                else:
                    self.assertEqual(first.end(number), 0)
                second = self.daemon()
                self.assertEqual(self.list(second), listed)
                self.assertEqual(self.functions(second, name), functions)
                self.assertEqual(self.probe(second, "delete", name).end(), [])
                self.assertEqual(self.files(), [])
                self.assertEqual(second.end(), 0)

    def test_what_was_drained_is_cancelled_and_kept(self):
        first = self.daemon()
        name = self.begin(first)
        self.assertEqual(first.end(), 0)
        second = self.daemon()
        self.assertEqual(self.list(second)[name][0], "STATE_CANCELLED")
        self.assertIn("inner", self.functions(second, name))

    @needs_root
    def test_they_are_their_owners_still(self):
        first = self.daemon("--multi-user")
        name = self.begin(first)
        self.kill(first)
        second = self.daemon("--multi-user")
        self.assertEqual(self.list(second, prefix=AS_USER), {})
        self.assertIn(name, self.list(second))

    def test_a_recording_whose_client_went_leaves_nothing(self):
        daemon = self.daemon()
        client = self.probe(daemon, "record", self.target.pid, 1000, self.place.folder / "x.pftrace")
        self.assertTrue(client.hear("STATE_RUNNING"))
        self.assertEqual(len(self.files()), 2)
        client.close()
        self.assertTrue(within_deadline(lambda: self.list(daemon) == {} and not daemon.collectors()))
        self.assertEqual(daemon.end(), 0)
        self.assertEqual(self.files(), [])

    def test_what_cannot_be_read_is_said_and_stays(self):
        first = self.daemon()
        names = [self.record(first) for _ in range(3)]
        self.assertEqual(first.end(), 0)
        damaged, lonely, sound = (name.split("/")[-1] for name in names)
        (self.place.spool / f"{damaged}.json").write_text("{")
        (self.place.spool / f"{lonely}.json").unlink()
        (self.place.spool / "x.json.new").write_text("{")
        second = self.daemon()
        self.assertEqual([name.split("/")[-1] for name in self.list(second)], [sound])
        self.assertIn(f"capture {damaged} of an earlier ptrace-profd", second.words())
        self.assertIn(f"{lonely}.pftrace has no record", second.words())
        self.assertEqual(self.files(), sorted([f"{damaged}.json", f"{damaged}.pftrace", f"{lonely}.pftrace",
                                               f"{sound}.json", f"{sound}.pftrace"]))

    def test_two_daemons_do_not_share_a_folder(self):
        self.daemon()
        second = Daemon(self.place, "--socket", self.place.folder / "run" / "other.sock", "--spool", self.place.spool,
                        listening=False)
        self.addCleanup(second.close)
        self.assertEqual(second.process.wait(), 1)
        self.assertIn("another ptrace-profd keeps its traces in", second.words())
        self.assertIn("--spool", second.words())


class Kept(SpoolCase):
    def forgotten(self, daemon, name, why):
        daemon.hear(f"event=capture_forgotten capture={name.split('/')[-1]} ")
        line = next(line for line in daemon.words().splitlines() if "capture_forgotten" in line)
        self.assertIn(f"why={why}", line)

    def test_the_oldest_goes_when_there_is_too_much(self):
        first = self.daemon()
        names = [self.record(first) for _ in range(3)]
        sizes = [int(self.list(first)[name][1]) for name in names]
        going_on = self.begin(first)
        self.kill(first)  # it is the newest then, and has ended
        second = self.daemon("--keep-bytes", sum(sizes[1:]) + (self.place.spool / f"{going_on.split('/')[-1]}.pftrace")
                             .stat().st_size)
        self.assertEqual(sorted(self.list(second)), sorted([*names[1:], going_on]))
        self.forgotten(second, names[0], "bytes")
        self.assertEqual(len(self.files(".pftrace")), 3)

    def test_one_that_goes_on_is_never_taken(self):
        daemon = self.daemon("--keep-bytes", 1)
        going_on = self.begin(daemon)
        ended = self.record(daemon)
        self.begin(daemon, 0.1)  # the start of a capture deletes old ones
        self.forgotten(daemon, ended, "bytes")
        self.assertEqual(self.list(daemon)[going_on][0], "STATE_RUNNING")

    def test_what_is_too_old_goes(self):
        first = self.daemon()
        name = self.record(first)
        self.assertEqual(first.end(), 0)
        second = self.daemon("--keep-for", "1ms")
        self.assertEqual(self.list(second), {})
        self.forgotten(second, name, "age")
        self.assertEqual(self.files(), [])


class Disk(SpoolCase):
    def mounted(self, size):
        """A daemon whose spool is a small disk of its own."""
        self.place.spool.mkdir(mode=0o700)
        user = self._user("ptrace-prof") or self._user("nobody")
        script = (f"mount -t tmpfs -o size={size},mode=700,uid={user.pw_uid},gid={user.pw_gid} pp-test {self.place.spool}"
                  ' && exec "$@"')
        return self.daemon(prefix=("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "--"))

    @staticmethod
    def _user(name):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
        return None

    @needs_root
    def test_a_full_one_ends_the_capture_and_nothing_else(self):
        daemon = self.mounted("1m")
        spool = pathlib.Path(f"/proc/{daemon.pid}/root{self.place.spool}")
        name = self.begin(daemon)
        bystander = self.begin(daemon, pid=self.target.pid)
        with open(spool / "filler", "wb", buffering=0) as filler:
            with self.assertRaises(OSError):
                while True:
                    filler.write(bytes(512))
        for one in (name, bystander):
            last = self.probe(daemon, "watch", one).end()[-1]
            self.assertEqual(state_of(last), "STATE_FAILED", last)
            self.assertIn("No space left on device", last)
            self.assertIn(str(self.place.spool), last)
            self.assertIn("inner", self.functions(daemon, one))
        refused = self.probe(daemon, "create", self.target.pid, 1).end()[-1]
        self.assertTrue(refused.startswith("error RESOURCE_EXHAUSTED"), refused)
        self.assertIn("No space left on device", refused)
        self.assertUnharmed(self.target.pid)
        os.unlink(spool / "filler")
        self.record(daemon)
        for one in (name, bystander):  # by now the daemon has written what it could not write then
            record = spool / f"{one.split('/')[-1]}.json"
            self.assertTrue(within_deadline(lambda: b'"failed"' in record.read_bytes()), record.read_bytes())
        self.assertEqual(daemon.end(), 0)

    @needs_root
    def test_one_that_becomes_read_only_keeps_what_it_has(self):
        daemon = self.mounted("4m")

        def remount(how):
            subprocess.run(["nsenter", "--target", str(daemon.pid), "--mount", "mount", "-o", f"remount,{how}",
                            str(self.place.spool)], check=True)

        kept = self.record(daemon)
        remount("ro")
        for words in (("create", self.target.pid, 1), ("record", self.target.pid, 1, self.place.folder / "t"),
                      ("delete", kept)):
            refused = self.probe(daemon, *words).end()[-1]
            self.assertIn("Read-only file system", refused, words)
            self.assertIn("mount -o remount,rw", refused, words)
        self.assertIn(kept, self.list(daemon), "what could not be removed is said to be there")
        self.assertIn("inner", self.functions(daemon, kept))
        remount("rw")
        self.assertEqual(self.probe(daemon, "delete", kept).end(), [])
        self.assertNotIn(kept, self.list(daemon))
        self.assertEqual([name for name in os.listdir(f"/proc/{daemon.pid}/root{self.place.spool}") if "json" in name], [])
        self.record(daemon)
        self.assertEqual(daemon.end(), 0)

    def test_one_that_fails_ends_the_capture_with_what_there_was(self):
        daemon = self.daemon(prefix=(sys.executable, FAILING_DISK, "16384"))
        name = self.begin(daemon)  # a brief one needs 10 KiB
        last = self.probe(daemon, "watch", name).end()[-1]
        self.assertEqual(state_of(last), "STATE_FAILED", last)
        self.assertIn("Input/output error", last)
        self.assertIn(str(self.place.spool), last)
        self.assertGreater(int(self.list(daemon)[name][1]), 0)
        self.assertIn("inner", self.functions(daemon, name))
        told = profiler.run("captures", "list", "--json", "--host", self.place.address)
        self.assertIn("STORAGE_FAILED", told.output)
        self.assertUnharmed(self.target.pid)
        self.record(daemon, 0.05)
        self.assertEqual(daemon.end(), 0)

    @unittest.skipUnless(shutil.which("prlimit"), "no prlimit")
    def test_a_limit_of_the_administrators_ends_the_capture_alone(self):
        daemon = self.daemon(prefix=("prlimit", "--fsize=8192", "--"))
        name = self.begin(daemon)
        last = self.probe(daemon, "watch", name).end()[-1]
        self.assertEqual(state_of(last), "STATE_FAILED", last)
        self.assertIn("File too large", last)
        self.assertEqual(daemon.end(), 0)


if __name__ == "__main__":
    case.main()

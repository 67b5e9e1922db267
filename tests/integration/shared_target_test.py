"""Two callers and one target, with real users. Both may sample it, but only one at a time may trace it. The tracing
user is named only to users who may know that."""
import contextlib
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, case, profiler  # noqa: E402
from support.daemon import Daemon, Place, state_of, within_deadline  # noqa: E402
from support.target_process import harm  # noqa: E402

ALICE, BOB = access_cases.ALICE, access_cases.BOB
AS = {"root": (), "alice": access_cases.as_user(ALICE), "bob": access_cases.as_user(BOB)}
CALLS = "def step(n): return n + 1\nprint('ready', flush=True)\nn = 0\nwhile True: n = step(n)\n"
SECONDS = 1000  # longer than the test: a capture that ends was ended


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class SharedTarget(case.Case):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)
        os.chmod(self.place.folder, 0o755)
        self.daemon = Daemon(self.place, "--multi-user", "--socket", self.place.socket, "--spool", self.place.spool)
        self.addCleanup(self.daemon.close)
        target = subprocess.Popen([*AS["alice"], access_cases.PYTHON, "-I", "-S", "-c", CALLS], stdout=subprocess.PIPE,
                                  text=True)
        for end in (target.stdout.close, target.wait, target.kill):
            self.addCleanup(end)
        self.assertEqual(target.stdout.readline(), "ready\n")
        self.pid = target.pid

    def said(self, who, *words):
        """The last line, if there is any."""
        probe = self.daemon.probe(*words, prefix=AS[who])
        self.addCleanup(probe.close)
        return (probe.end() or [""])[-1]

    def begin(self, who, what):
        """The name of a capture that runs."""
        line = self.said(who, "create", what, SECONDS)
        self.assertTrue(line.startswith("capture "), line)
        name = line.split()[1]
        watching = self.daemon.probe("watch", name, prefix=AS[who])
        self.addCleanup(watching.close)
        self.assertTrue(watching.hear("STATE_RUNNING"), watching.lines)
        return name

    def refused(self, who):
        """The refusal that `who` gets for a second trace."""
        line = self.said(who, "create", f"trace:{self.pid}", SECONDS)
        last = self.said(who, "watch", line.split()[1])
        self.assertEqual(state_of(last), "STATE_FAILED", last)
        # The second wording: the one that traces is still on its way in.
        self.assertRegex(last, f"process {self.pid} is (being traced already|traced by process )")
        return last

    def end_well(self, who, name):
        self.said(who, "cancel", name)
        last = self.said(who, "watch", name)
        self.assertEqual(state_of(last), "STATE_CANCELLED", last)
        trace = self.place.folder / "read.pftrace"
        with contextlib.suppress(FileNotFoundError):
            trace.unlink()
        self.said("root", "read", name, trace)
        exported = profiler.run("export", trace, "--format", "collapsed", "-o", "-")
        self.assertIn("<string>", exported.output)

    def assertNothingLeft(self):
        self.assertTrue(within_deadline(lambda: not self.daemon.collectors()))
        self.assertEqual(harm(self.pid), [])

    def test_samples_are_for_everybody_who_may(self):
        """Two callers sample, and one traces meanwhile. All three get what they asked for."""
        captures = [(who, self.begin(who, self.pid)) for who in ("alice", "root")]
        captures.append(("alice", self.begin("alice", f"trace:{self.pid}")))
        for who, name in captures:
            self.end_well(who, name)
        self.assertNothingLeft()

    def test_one_traces_and_root_is_told_who(self):
        name = self.begin("alice", f"trace:{self.pid}")
        holder = f"capture {name.rsplit('/', 1)[1]} of user {ALICE}"
        self.assertIn(holder, self.refused("alice"), "it is her own")
        self.assertIn(holder, self.refused("root"))
        bobs = self.said("bob", "create", f"trace:{self.pid}", SECONDS)
        last = self.said("bob", "watch", bobs.split()[1])
        self.assertEqual(state_of(last), "STATE_FAILED", last)
        self.assertIn("belongs to", last, "as if nobody traced it")
        self.assertNotIn("traced", last)
        self.end_well("alice", name)
        self.end_well("alice", self.begin("alice", f"trace:{self.pid}"))
        self.assertNothingLeft()

    def test_whose_process_it_is_does_not_learn_of_roots_capture(self):
        name = self.begin("root", f"trace:{self.pid}")
        hers = self.refused("alice")
        self.assertNotIn(name.rsplit("/", 1)[1], hers)
        self.assertNotIn("user 0", hers)
        self.assertIn("of user 0", self.refused("root"))
        self.end_well("root", name)
        self.assertNothingLeft()


if __name__ == "__main__":
    case.main()

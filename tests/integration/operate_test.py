"""The administrator's commands for the daemon: `ptrace-prof daemon` and `ptrace-prof audit`."""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import daemon as daemons  # noqa: E402
from support.profiler import BINARY, must, run  # noqa: E402
from support.target_process import DEADLINE, harm  # noqa: E402
from support.terminal_run import TerminalCase, main  # noqa: E402


LESSER_ROOT = ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace")


def may_read_all():
    status = pathlib.Path("/proc/self/status").read_text()
    return os.getuid() == 0 and bool(int(re.search(r"CapEff:\s*(\w+)", status).group(1), 16) >> 19 & 1)


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


class Operating(TerminalCase):
    OPTIONS = ()

    def setUp(self):
        super().setUp()
        self.place = daemons.Place()
        self.addCleanup(self.place.close)
        os.chmod(self.place.folder, 0o755)
        self.audit = self.place.folder / "audit.log"
        if os.getuid() == 0:  # for the user that the daemon becomes
            self.place.spool = pathlib.Path("/var/tmp") / self.place.folder.name
            self.addCleanup(subprocess.run, ["rm", "-rf", self.place.spool])
        self.daemon = daemons.Daemon(self.place, "--socket", self.place.socket, "--spool", self.place.spool, "--audit",
                                     self.audit, *self.OPTIONS)
        self.addCleanup(self.daemon.close)
        self.target = self.spin()
        self.addCleanup(lambda: self.assertEqual(harm(self.target.pid), []))

    def ask(self, *words):
        finished = run(*words, "--host", self.place.address)
        self.assertEqual(finished.status, 0, str(finished))
        return finished

    def as_user(self, *words, prefix=daemons.AS_USER):
        return subprocess.run([*prefix, BINARY, *map(str, words), "--host", self.place.address], timeout=DEADLINE,
                              capture_output=True, text=True)

    def begin(self):
        return must("record", "--detach", "--pid", self.target.pid, "--host", self.place.address).output.strip()

    def status(self):
        return json.loads(self.ask("daemon", "status", "--json").output)


class Status(Operating):
    def test_tells_how_it_is_set_up_and_what_it_keeps(self):
        told = self.status()
        self.assertEqual((told["schema"], told["pid"], told["address"]),
                         ("ptrace-prof.daemon/1", self.daemon.pid, self.place.address))
        self.assertEqual((told["owner_uid"], told["multi_user"]), (os.getuid(), False))
        self.assertEqual(set(told["captures"].values()), {0})
        self.assertEqual((told["keeping"]["spool"], told["keeping"]["audit"]), (str(self.place.spool), str(self.audit)))
        capture = self.begin()
        self.assertTrue(daemons.within_deadline(lambda: self.status()["trace_bytes"] > 0))
        self.assertEqual(self.status()["captures"]["running"], 1)
        text = self.ask("daemon", "status").output
        for word in ("ptrace-profd", str(self.place.spool), str(self.audit), "1 running", str(self.daemon.pid)):
            self.assertIn(word, text)
        self.ask("daemon", "cancel", capture)
        self.assertTrue(daemons.within_deadline(lambda: self.status()["captures"]["cancelled"] == 1))

    def test_without_a_daemon_says_so(self):
        for words in (("status",), ("captures",), ("cancel", "--all")):
            finished = run("daemon", *words, "--host", "none")
            self.assertEqual(finished.status, 9, str(finished))
            self.assertIn("NO_DAEMON", finished.errors)

    def test_cancels_several_and_all(self):
        ids = [self.begin() for _ in range(3)]
        self.assertEqual({row["id"] for row in json.loads(self.ask("daemon", "captures", "--json").output)["captures"]},
                         set(ids))
        self.ask("daemon", "cancel", ids[0], ids[1])
        said = self.ask("daemon", "cancel", "--all").errors
        self.assertIn(ids[2], said)
        self.assertNotIn(ids[0], said)
        self.assertIn("no capture is running", self.ask("daemon", "cancel", "--all").errors)
        for words in (("cancel",), ("cancel", "nobody"), ("cancel", "--all", ids[0]), ()):
            self.assertNotEqual(run("daemon", *words, "--host", self.place.address).status, 0, words)


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class ForEverybody(Operating):
    OPTIONS = ("--multi-user",)

    def test_users_learn_what_is_theirs_and_root_all(self):
        capture = self.begin()
        told = self.as_user("daemon", "status", "--json")
        theirs = json.loads(told.stdout)
        self.assertIsNone(theirs["keeping"])
        self.assertEqual((set(theirs["captures"].values()), theirs["trace_bytes"], theirs["of_everybody"]), ({0}, 0, False))
        self.assertNotIn(str(self.place.spool), told.stdout)
        self.assertNotIn(str(self.audit), self.as_user("daemon", "status").stdout)
        self.assertNotIn(capture, self.as_user("daemon", "captures").stdout)
        self.assertNotEqual(self.as_user("daemon", "cancel", capture).returncode, 0)
        self.assertIn("no capture is running", self.as_user("daemon", "cancel", "--all").stderr)
        theirs = self.as_user("record", "--detach", "--pid", self.spin(prefix=daemons.AS_USER).pid).stdout.strip()
        rows = {line.split()[0]: line.split()[3] for line in self.ask("daemon", "captures").output.splitlines()[1:]}
        self.assertEqual(rows, {capture: "root", theirs: str(daemons.USER)})
        self.assertNotIn("USER", self.as_user("daemon", "captures").stdout)
        self.ask("daemon", "cancel", theirs)
        self.assertTrue(daemons.within_deadline(lambda: self.status()["captures"]["cancelled"] == 1))
        must("captures", "delete", theirs, "--host", self.place.address)
        audited = lines_of(self.ask("audit", "--json").output)
        self.assertEqual([(line["what"], line["owner"]) for line in audited if line.get("capture") == theirs],
                         [("cancel", daemons.USER), ("delete", daemons.USER)])
        self.assertNotIn(capture, [line.get("capture") for line in audited], "root's own")
        all_of_it = self.status()
        self.assertTrue(all_of_it["of_everybody"])
        self.assertEqual(sum(all_of_it["captures"].values()), 1)
        self.assertNotEqual(all_of_it["user_uid"], 0)

    @unittest.skipUnless(may_read_all(), "needs a root with CAP_SYS_PTRACE")
    def test_a_root_without_the_right_to_read_all_is_one_user_among_others(self):
        """As the root of a container into which the socket is mounted."""
        users = self.spin(prefix=daemons.AS_USER)
        captures = [self.begin(), self.as_user("record", "--detach", "--pid", users.pid).stdout.strip()]
        theirs = self.as_user("daemon", "status", "--json", prefix=LESSER_ROOT)
        self.assertEqual(theirs.returncode, 0, theirs.stderr)
        told = json.loads(theirs.stdout)
        self.assertEqual((set(told["captures"].values()), told["of_everybody"], told["keeping"]), ({0}, False, None))
        for capture in captures:
            self.assertNotIn(capture, self.as_user("captures", "list", prefix=LESSER_ROOT).stdout)
            for words in (("captures", "delete", "--force"), ("captures", "cancel"), ("daemon", "cancel")):
                refused = self.as_user(*words, capture, prefix=LESSER_ROOT)
                self.assertNotEqual(refused.returncode, 0, words)
                self.assertIn("no capture", refused.stderr)
        self.assertEqual(sum(self.status()["captures"].values()), 2)

    def test_the_audit_is_for_root(self):
        refused = self.as_user("dump", "--pid", self.target.pid)
        self.assertEqual(refused.returncode, 4, refused.stderr)
        for words in (("audit",), ("audit", "--file", self.audit), ("daemon", "audit")):
            told = self.as_user(*words)
            self.assertEqual(told.returncode, 4, told.stderr)
            self.assertEqual(told.stdout, "")
        found = lines_of(self.ask("audit", "--uid", daemons.USER, "--outcome", "refused", "--json").output)
        self.assertEqual([(line["uid"], line["what"], line["target"]) for line in found],
                         [(daemons.USER, "dump", self.target.pid)])

    def test_what_users_try_with_captures_of_others_is_in_the_audit(self):
        capture = self.begin()
        name = json.loads(self.ask("captures", "list", "--json").output)["captures"][0]["name"]
        for words in (("cancel", name), ("delete", name), ("read", name, self.place.folder / "x")):
            probe = self.daemon.probe(*words, prefix=daemons.AS_USER)
            self.addCleanup(probe.close)
            self.assertRegex(probe.end()[-1], "error NOT_FOUND", "that there is one is nobody's business")
        found = lines_of(self.ask("audit", "--uid", daemons.USER, "--json").output)
        self.assertEqual([(line["what"], line["capture"], line["owner"], line["target"], line["outcome"]) for line in found],
                         [(what, capture, 0, self.target.pid, "refused") for what in ("cancel", "delete", "read")])
        version = tuple(int(number) for number in os.uname().release.split(".")[:2])
        self.assertEqual({"command" in line for line in found}, {version >= (6, 5)})
        self.assertEqual(self.status()["captures"]["running"], 1)

    def test_what_ends_with_the_daemon_is_in_the_audit(self):
        self.begin()
        self.assertEqual(self.daemon.end(), 0)
        recorded = [line for line in lines_of(self.audit.read_text()) if line["what"] == "record"]
        self.assertEqual([(line["outcome"], line.get("reason")) for line in recorded],
                         [("started", None), ("failed", "DAEMON_ENDING")])


class Audit(Operating):
    def setUp(self):
        super().setUp()
        self.ask("dump", "--pid", self.target.pid)

    def test_filters(self):
        whole = lines_of(self.ask("audit", "--json").output)
        self.assertEqual([line["outcome"] for line in whole], ["started", "allowed"])
        self.assertEqual(whole, lines_of(self.audit.read_text()))
        for words, count in (((), 2), (("--uid", os.getuid()), 2), (("--uid", 12345), 0), (("--pid", self.target.pid), 2),
                             (("--pid", whole[0]["pid"]), 2), (("--pid", 1), 0), (("--outcome", "allowed"), 1),
                             (("--since", "1h"), 2), (("--since", whole[0]["time"]), 2), (("--since", "2200-01-01"), 0)):
            with self.subTest(words=words):
                self.assertEqual(len(self.ask("audit", "--json", *words).output.splitlines()), count)
                self.assertEqual(self.ask("daemon", "audit", "--json", *words).output,
                                 self.ask("audit", "--json", *words).output)
        table = self.ask("audit").output.splitlines()
        self.assertEqual(len(table), 3)
        self.assertRegex(table[2], rf"Z .* dump +{self.target.pid} +allowed")
        self.assertEqual(self.ask("audit", "--uid", 12345).output, "")
        for words in (("--uid", "no-such-user"), ("--pid", "x"), ("--since", "soon"), ("--outcome", "great")):
            self.assertEqual(run("audit", *words, "--file", self.audit).status, 2, words)

    def test_a_cut_or_rotated_file_is_survived_and_said(self):
        with open(self.audit, "ab") as file:
            file.write(b'damaged\n{"time":"2026-11-')
        finished = self.ask("audit", "--json")
        self.assertEqual(len(finished.output.splitlines()), 2)
        self.assertIn("skipped 1 damaged lines of", finished.errors)
        self.assertIn("is incomplete", finished.errors)
        self.audit.with_suffix(".log.1").write_bytes(self.audit.read_bytes())
        os.truncate(self.audit, 0)
        self.ask("dump", "--pid", self.target.pid)
        finished = self.ask("audit", "--json")
        self.assertEqual(len(finished.output.splitlines()), 2)
        self.assertIn("audit.log.1", finished.errors)

    def test_follows(self):
        following = subprocess.Popen([BINARY, "audit", "--follow", "--json", "--file", self.audit, "--host", "none"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(following.stderr.close)
        self.addCleanup(following.stdout.close)
        self.addCleanup(following.wait)
        self.addCleanup(following.kill)
        read = following.stdout.readline
        self.assertEqual([json.loads(read())["outcome"] for _ in range(2)], ["started", "allowed"])
        whole = self.audit.read_text().splitlines()[0] + "\n"
        with open(self.audit, "a") as file:
            file.write(whole[:20])
            file.flush()
            file.write(whole[20:])
        self.assertEqual(read(), whole)
        os.truncate(self.audit, 0)
        self.assertIn("was truncated", following.stderr.readline())
        with open(self.audit, "a") as file:
            file.write(whole)
        self.assertEqual(read(), whole)
        os.rename(self.audit, self.audit.with_suffix(".log.1"))
        self.audit.write_text(whole)
        self.assertIn("was rotated", following.stderr.readline())
        self.assertEqual(read(), whole)

    def test_says_where_there_is_none(self):
        finished = run("audit", "--file", self.place.folder / "none")
        self.assertEqual(finished.status, 3, str(finished))
        self.assertIn("--audit", finished.errors)


if __name__ == "__main__":
    main()

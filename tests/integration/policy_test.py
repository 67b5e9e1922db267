"""The administrator's policy: what a real daemon for all users lets real users profile, and how it reports refusals."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, case, profiler  # noqa: E402
from support.call_stops import CallStops  # noqa: E402
from support.daemon import Daemon, Place, within_deadline  # noqa: E402
from support.target_process import DEADLINE, harm  # noqa: E402

ALICE, BOB = access_cases.ALICE, access_cases.BOB
CLONE = 56  # the system call by which the C library forks
GUESTS, STAFF = 54400, 54401  # groups
NAMED = "import ctypes; ctypes.CDLL(None).prctl(15, b'{}')"  # PR_SET_NAME

# Three processes, each in a function of its own. When it reads a line, the first becomes another program, which is
# given as an argument. All end when that one has ended.
FAMILY = """
import ctypes, os, sys
hold, release = os.pipe()
os.set_inheritable(release, True)

def tell(name):
    ctypes.CDLL(None).prctl(15, name.encode())
    print(name, os.getpid(), flush=True)

def in_job():
    os.read(hold, 1)

def in_other():
    os.read(hold, 1)

def in_parent():
    sys.stdin.readline()

for name, inside in (("job-1", in_job), ("other", in_other)):
    if os.fork() == 0:
        os.close(release)
        tell(name)
        inside()
        os._exit(0)
tell("parent")
in_parent()
os.execv(sys.argv[1], [sys.argv[1], "-I", "-S", "-c", sys.argv[2]])
"""
ANOTHER = """
import os, sys
def in_another():
    sys.stdin.readline()
print("another", os.getpid(), flush=True)
in_another()
"""

RULES = f"""
[[rule]]
name = "no-guests"
action = "deny"
group = {GUESTS}

[[rule]]
name = "jobs"
action = "allow"
command = "job-*"

[[rule]]
name = "no-copies"
action = "deny"
exe = "*/copied-*"

[[rule]]
name = "staff"
action = "allow"
group = {STAFF}

[[rule]]
name = "not-of-bob"
action = "deny"
owner = {BOB}

[[rule]]
name = "only-jobs"
action = "deny"
user = {ALICE}
"""


def rule(name, rest=""):
    return f"[[rule]]\nname = '{name}'\naction = 'deny'\n{rest}\n"


@unittest.skipUnless(os.getuid() == 0, "only root can become others")
class PolicyCase(case.Case):
    def setUp(self):
        self.place = Place()
        self.addCleanup(self.place.close)
        os.chmod(self.place.folder, 0o755)
        self.file, self.audit = self.place.folder / "policy.toml", self.place.folder / "audit.log"

    def write(self, text):
        self.file.write_text(text)
        os.chmod(self.file, 0o644)

    def serve(self, text, *options, listening=True):
        self.write(text)
        daemon = Daemon(self.place, "--multi-user", "--audit", self.audit, "--socket", self.place.socket, "--spool",
                        self.place.spool, "--policy", self.file, *options, listening=listening)
        self.addCleanup(daemon.close)
        return daemon

    def target(self, prefix=access_cases.as_user(ALICE), interpreter=access_cases.PYTHON, name="python3"):
        target = access_cases.AccessTarget(prefix, interpreter, NAMED.format(name))
        self.addCleanup(target.close)
        return target.pid

    def probe(self, daemon, *words, prefix=access_cases.as_user(ALICE)):
        probe = daemon.probe(*words, prefix=prefix)
        self.addCleanup(probe.close)
        return probe

    def answers(self, daemon, *pids, prefix):
        """The daemon's answer to such a caller about each process: `allowed`, or the code and the reason."""
        lines = self.probe(daemon, "ask", *pids, prefix=prefix).end()
        self.assertEqual([line.split()[1] for line in lines], [str(pid) for pid in pids], lines)
        return [" ".join(line.split()[2:]) or "allowed" for line in lines]

    def audited(self, pid):
        """[(uid, outcome, rule)]"""
        entries = [json.loads(line) for line in self.audit.read_text().splitlines()]
        return [(entry["uid"], entry["outcome"], entry.get("rule")) for entry in entries if entry.get("target") == pid]

    def reload(self, daemon, text, word):
        """The lines of the log about that."""
        self.write(text)
        known = len(daemon.words())
        daemon.process.send_signal(signal.SIGHUP)
        self.assertTrue(within_deadline(lambda: word in daemon.words()[known:]), daemon.words())
        line, = daemon.words()[known:].splitlines()
        return line


DENIED = "PERMISSION_DENIED POLICY_DENIED"


class Rules(PolicyCase):
    def test_the_first_that_fits_decides_and_the_audit_names_it(self):
        daemon = self.serve(RULES)
        plain, job, of_bob = self.target(), self.target(name="job-7"), self.target(access_cases.as_user(BOB))
        copied = access_cases._special(self.place.folder, "copied-python", 0, 0o755)
        copy = self.target(interpreter=copied)
        alice = access_cases.as_user(ALICE)
        staff, guest = (access_cases.as_user(ALICE, groups=(group,)) for group in (STAFF, GUESTS))
        self.assertEqual(self.answers(daemon, plain, job, copy, of_bob, prefix=alice), [DENIED, "allowed", DENIED, DENIED])
        self.assertEqual(self.answers(daemon, plain, job, copy, prefix=staff), ["allowed", "allowed", DENIED])
        self.assertEqual(self.answers(daemon, plain, job, prefix=guest), [DENIED, DENIED])
        self.assertEqual(self.answers(daemon, of_bob, prefix=staff), ["PERMISSION_DENIED CALLER_UID_MISMATCH"],
                         "a policy gives no right")
        self.assertEqual(self.answers(daemon, of_bob, plain, prefix=()), [DENIED, "allowed"], "root is a caller like any")
        expected = {plain: [(ALICE, "refused", "only-jobs"), (ALICE, "refused", "no-guests")],
                    copy: [(ALICE, "refused", "no-copies")] * 2, of_bob: [(0, "refused", "not-of-bob")]}
        for pid, refused in expected.items():
            self.assertEqual([entry for entry in self.audited(pid) if entry[1] == "refused" and entry[2] and
                              entry[2] != "staff" and not (pid == of_bob and entry[0] != 0)], refused)
        self.assertIn((ALICE, "started", "jobs"), self.audited(job))
        self.assertTrue(within_deadline(lambda: (ALICE, "allowed", "staff") in self.audited(plain)))
        for pid in (plain, job, copy, of_bob):
            self.assertEqual(harm(pid), [])

    def test_every_way_to_a_process_is_closed_and_says_why(self):
        daemon = self.serve(rule("no-jobs", "command = 'job-*'"))
        job, plain = self.target(name="job-1"), self.target()
        address = ("--host", self.place.address)

        def run(*words):
            return subprocess.run([*access_cases.as_user(ALICE), profiler.BINARY, *map(str, words), *address], text=True,
                                  capture_output=True, timeout=DEADLINE, cwd="/", stdin=subprocess.DEVNULL)

        for words in (("dump", "--pid", job), ("doctor", "--pid", job),
                      ("record", "--pid", job, "--duration", "1", "-o", "/nonexistent/x.html")):
            with self.subTest(words[0]):
                done = run(*words)
                self.assertNotEqual(done.returncode, 0, done)
                if words[0] != "record":
                    self.assertIn("rule 'no-jobs'", done.stderr + done.stdout)
                    self.assertIn(str(self.file), done.stderr + done.stdout)
        self.assertEqual(run("dump", "--pid", plain).returncode, 0)
        listed = {entry["pid"]: entry for entry in json.loads(run("ps", "--json").stdout)}
        self.assertTrue(listed[plain]["profilable"], listed[plain])
        self.assertFalse(listed[job]["profilable"], listed[job])
        self.assertEqual(listed[job]["reason_code"], "POLICY_DENIED", listed[job])
        self.assertIn("rule 'no-jobs'", listed[job]["reason"])
        for words in (("record", job, 1, self.place.folder / "x"), ("create", job, 1), ("create", f"trace:{job}", 1),
                      ("stream", job)):
            self.assertIn("error PERMISSION_DENIED", self.probe(daemon, *words).end()[-1])
        self.assertEqual(daemon.collectors(), [])

    def family(self, program):
        """A process of FAMILY that becomes `program`, and the PID of each process by its name."""
        first = subprocess.Popen([*access_cases.as_user(ALICE), access_cases.PYTHON, "-I", "-S", "-c", FAMILY, program,
                                  ANOTHER], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/")
        for close in (first.stdout.close, first.wait, first.kill, first.stdin.close):
            self.addCleanup(close)
        return first, {name: int(pid) for name, pid in (first.stdout.readline().split() for _ in range(3))}

    def test_children_and_what_the_target_becomes_are_judged_when_they_are_met(self):
        self.serve(rule("no-jobs", "command = 'job-*'"))
        first, pids = self.family(access_cases._special(self.place.folder, "job-2", 0, 0o755))
        address = ("--host", self.place.address)
        dumped = profiler.dump(first.pid, "--subprocesses", *address)
        self.assertEqual({thread.pid for thread in dumped}, {first.pid, pids["other"]})
        recording = profiler.Recording(first.pid, "--idle", "all", *address)
        self.addCleanup(recording.remove)
        recording.shows("in_other")
        first.stdin.write("become another\n")
        first.stdin.flush()
        self.assertEqual(first.stdout.readline(), f"another {first.pid}\n")
        recording.shows("another program now")
        recording.interrupt()
        errors = recording.wait().errors
        seen = {frame.plain for stack in recording.stacks() for frame in stack}
        self.assertEqual({name: name in seen for name in ("in_parent", "in_other", "in_job", "in_another")},
                         {"in_parent": True, "in_other": True, "in_job": False, "in_another": False}, errors)
        for pid, which in ((pids["job-1"], "a child"), (first.pid, "another program now")):
            self.assertIn(f"process {pid} ({which}) and its children are not recorded: the policy of this machine "
                          "forbids you to profile it: rule 'no-jobs'", errors)
        for pid in pids.values():
            self.assertEqual(harm(pid), [])

    def test_a_program_that_comes_after_the_judgement_is_judged_too(self):
        """The collector judges the new program. The main process judged the earlier one, as the program changes only
        while the launcher starts the collector."""
        daemon = self.serve(rule("no-jobs", "command = 'job-*'"))
        program = access_cases._special(self.place.folder, "job-3", 0, 0o755)
        for way in ("", "trace:"):
            with self.subTest(way):
                first, _ = self.family(program)
                with CallStops(daemon.launcher) as calls:
                    asking = daemon.probe("create", f"{way}{first.pid}", 2, prefix=access_cases.as_user(ALICE))
                    for call in calls:
                        if call == CLONE:
                            break
                    first.stdin.write("become another\n")
                    first.stdin.flush()
                    self.assertEqual(first.stdout.readline(), f"another {first.pid}\n")
                words = asking.end()
                name = words[-1].split()[1]
                watched = "\n".join(daemon.probe("watch", name, prefix=access_cases.as_user(ALICE)).end())
                self.assertIn("STATE_FAILED", watched, words)
                self.assertIn("has become another program: the policy of this machine forbids you to profile it: "
                              "rule 'no-jobs'", watched)
                self.assertEqual(harm(first.pid), [])

    def test_who_is_not_there_is_not_judged(self):
        daemon = self.serve(rule("all"))
        ended = subprocess.Popen(["true"])
        ended.wait()
        self.assertEqual(self.answers(daemon, ended.pid, prefix=access_cases.as_user(ALICE)), ["NOT_FOUND PROCESS_NOT_FOUND"])


class Reloading(PolicyCase):
    def test_what_changed_is_said_in_one_line_and_captures_go_on(self):
        daemon = self.serve(rule("nobody", f"user = {BOB}"))
        mine = self.target()
        alice = access_cases.as_user(ALICE)
        name = self.probe(daemon, "create", mine, 1000).end()[-1].split()[1]
        line = self.reload(daemon, rule("alice", f"user = {ALICE}") + "[[quota]]\nname = 'q'\ncaptures = 3\n", "policy_read_again")
        for words in ("rules added: alice", "rules removed: nobody", "quotas added: q"):
            self.assertIn(words, line)
        self.assertEqual(self.answers(daemon, mine, prefix=alice), [DENIED])
        listed, = self.probe(daemon, "list").end()
        self.assertIn(f"{name} STATE_", listed)
        self.assertNotRegex(listed, "SUCCEEDED|FAILED|CANCELLED")
        self.assertEqual(len(daemon.collectors()), 1)
        for verb in ("cancel", "watch", "delete"):
            self.probe(daemon, verb, name).end()
        self.reload(daemon, "", "policy_read_again")
        self.assertEqual(self.answers(daemon, mine, prefix=alice), ["allowed"])

    def test_a_file_that_is_wrong_changes_nothing(self):
        daemon = self.serve(rule("alice", f"user = {ALICE}"))
        mine = self.target()
        for text, words in (("default = 'deny'\n\ndefualt = 1", f"{self.file}:3: the policy has no key 'defualt'"),
                            ("[[rule", f"{self.file}:1: this is not valid TOML")):
            line = self.reload(daemon, text, "policy_unchanged")
            self.assertIn("level=error", line)
            self.assertIn("the previous policy stays in force", line)
            self.assertIn(words, line)
        self.file.unlink()
        self.write(rule("x"))
        os.chown(self.file, ALICE, ALICE)
        known = len(daemon.words())
        daemon.process.send_signal(signal.SIGHUP)
        self.assertTrue(within_deadline(lambda: "is not safe from changes by other users" in daemon.words()[known:]))
        self.assertEqual(self.answers(daemon, mine, prefix=access_cases.as_user(ALICE)), [DENIED])
        self.assertEqual(self.answers(daemon, mine, prefix=()), ["allowed"], "as before")


class Starting(PolicyCase):
    def test_a_daemon_does_not_start_with_a_policy_that_it_cannot_trust(self):
        def others_may_write():
            os.chmod(self.file, 0o666)

        def belongs_to_another():
            os.chown(self.file, ALICE, ALICE)

        def cannot_be_read():
            os.chmod(self.file, 0o600)

        for spoil, words in ((others_may_write, "no other user can write"), (belongs_to_another, f"belongs to user {ALICE}"),
                             (cannot_be_read, "chmod a+r"), (self.file.unlink, "cannot open the policy"),
                             (lambda: self.write("[[rule]]\nname='x'\naction='deny'\nuser='no-such'"), ":4: user: there is no")):
            self.write("")
            os.chown(self.file, 0, 0)
            spoil()
            with self.subTest(words):
                daemon = Daemon(self.place, "--multi-user", "--socket", self.place.socket, "--spool", self.place.spool,
                                "--policy", self.file, listening=False)
                with contextlib.closing(daemon):
                    self.assertEqual(daemon.process.wait(DEADLINE), 1)
                    self.assertIn(words, daemon.words())
                    self.assertIn(str(self.file), daemon.words())
                    self.assertNotIn("event=listening", daemon.words())
                self.assertFalse(self.place.socket.exists())


class Quotas(PolicyCase):
    TEXT = f"""
[[quota]]
name = "few"
user = {ALICE}
captures = 1
bytes = "20KB"
duration = "100s"
"""

    def test_captures_and_their_duration(self):
        daemon = self.serve(self.TEXT)
        mine, of_bob = self.target(), self.target(access_cases.as_user(BOB))
        said = self.probe(daemon, "create", mine, 101).end()[-1]
        self.assertIn("error RESOURCE_EXHAUSTED", said)
        self.assertIn("requested 101 s, and the limit for a capture is 100 s (quota 'few' of the policy)", said)
        name = self.probe(daemon, "create", mine, 100).end()[-1].split()[1]
        said = self.probe(daemon, "create", mine, 1).end()[-1]
        self.assertIn("has 1 running captures, and the limit is 1 (quota 'few' of the policy)", said)
        self.assertIn((ALICE, "refused", "few"), self.audited(mine))
        bobs = [self.probe(daemon, "create", of_bob, 1000, prefix=access_cases.as_user(BOB)).end()[-1] for _ in range(2)]
        self.assertTrue(all(line.startswith("capture ") for line in bobs), bobs)
        self.reload(daemon, self.TEXT.replace("captures = 1", "captures = 2"), "quotas changed: few")
        again = self.probe(daemon, "create", mine, 1).end()[-1]
        self.assertTrue(again.startswith("capture "), again)
        for mine in (name, again.split()[1]):
            self.probe(daemon, "cancel", mine).end()

    def test_bytes_of_all_traces_together(self):
        daemon = self.serve(self.TEXT)
        mine = self.start_busy()
        name = self.probe(daemon, "create", mine, 100).end()[-1].split()[1]
        last = self.probe(daemon, "watch", name).end()[-1]  # ends by itself, long before its time
        self.assertIn("STATE_SUCCEEDED", last)
        self.assertGreaterEqual(int(last.split()[3]), 20 << 10)
        said = self.probe(daemon, "create", mine, 1).end()[-1]
        self.assertRegex(said, r"error RESOURCE_EXHAUSTED .*has \d+ bytes of stored traces, and the limit is 20480 \(quota 'few'")
        self.probe(daemon, "delete", name).end()
        name = self.probe(daemon, "create", mine, 100).end()[-1].split()[1]
        self.assertTrue(name.startswith("nodes/"))
        for verb in ("cancel", "watch"):
            self.probe(daemon, verb, name).end()

    def test_cpu_time_of_all_together(self):
        """The limit is 0.025 cores. The first capture gets half, as it can use all; the second the need of an ordinary
        one."""
        text = f'cpu = "{100 * 0.025 / len(os.sched_getaffinity(0)):.4f}%"'
        daemon = self.serve(text)
        mine, of_bob = self.target(), self.target(access_cases.as_user(BOB))
        name = self.probe(daemon, "create", mine, 1000).end()[-1].split()[1]
        shown = subprocess.run([*access_cases.as_user(ALICE), profiler.BINARY, "captures", "list", "--json", "--host",
                                self.place.address], text=True, capture_output=True, timeout=DEADLINE, cwd="/")
        self.assertIn("may use 1.25 % of a core, less than requested", shown.stdout, shown)
        bobs = self.probe(daemon, "create", of_bob, 1000, prefix=access_cases.as_user(BOB)).end()[-1]
        self.assertTrue(bobs.startswith("capture "), bobs)
        said = self.probe(daemon, "create", mine, 1000).end()[-1]
        self.assertIn("error RESOURCE_EXHAUSTED the policy of this machine limits all collectors together to 0.025 cores, "
                      "and running captures use 0.0225: too little is left for the 0.01 that taking samples needs", said)
        self.assertIn("error RESOURCE_EXHAUSTED", self.probe(daemon, "create", f"trace:{mine}", 1000).end()[-1])
        self.assertIn((ALICE, "refused", None), self.audited(mine))
        self.assertEqual(self.answers(daemon, of_bob, prefix=()), ["RESOURCE_EXHAUSTED QUOTA"], "who asks first is told, too")
        self.reload(daemon, "cpu = '100%'", "cpu: 100%")
        again = self.probe(daemon, "create", mine, 1000).end()[-1]
        self.assertTrue(again.startswith("capture "), again)
        self.reload(daemon, "", "cpu: no limit")
        for mine in (name, again.split()[1]):
            self.probe(daemon, "cancel", mine).end()

    def start_busy(self):
        """A process whose trace grows fast: many threads on different lines."""
        script = ("import threading\ndef spin(n):\n  while True: sum(range(n))\n"
                  "[threading.Thread(target=spin, args=(n,), daemon=True).start() for n in (50, 60, 70)]\nspin(10)")
        target = subprocess.Popen([*access_cases.as_user(ALICE), access_cases.PYTHON, "-I", "-S", "-c",
                                   f"print('ready', flush=True)\n{script}"], stdout=subprocess.PIPE, text=True)
        for end in (target.stdout.close, target.wait, target.kill):
            self.addCleanup(end)
        self.assertEqual(target.stdout.readline(), "ready\n")
        return target.pid


if __name__ == "__main__":
    case.main()

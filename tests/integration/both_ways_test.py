"""The same command lines without a daemon and through one must give the same status, messages and shape of result."""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import daemon  # noqa: E402
from support.profiler import BINARY, collapsed  # noqa: E402
from support.target_process import DEADLINE, harm  # noqa: E402
from support.terminal_run import PYTHON, TerminalCase, main  # noqa: E402

NO_SUCH_PID = 4_194_303
CALLING = """
import os
def leaf(n):
    return abs(n)
def trunk():
    for n in range(50):
        leaf(n)
os.write(1, b"ready\\n")
while True:
    trunk()
"""
VARYING = re.compile(r"\d+(\.\d+)?")


class Said:
    def __init__(self, done):
        self.status, self.output = done.returncode, done.stdout
        self.notes = [line for line in done.stderr.splitlines() if "through the daemon at" in line]
        self.errors = [line for line in done.stderr.splitlines() if line not in self.notes]

    def complaints(self):
        return [line for line in self.errors if line.startswith(("error:", "hint:"))]


def shape(document):
    """What remains of a JSON document without its values."""
    if isinstance(document, dict):
        return {key: shape(value) for key, value in document.items()}
    if isinstance(document, list):
        return [shape(document[0])] if document else []
    return type(document).__name__


class BothWays(TerminalCase):
    def setUp(self):
        super().setUp()
        place = daemon.Place()
        self.addCleanup(place.close)
        self.server = daemon.Daemon(place)
        self.addCleanup(self.server.close)
        self.hosts = ("none", f"unix:{place.socket}")

    def run_one(self, *arguments, env=None):
        environment = {name: value for name, value in os.environ.items() if name != "PTRACE_PROF_HOST"}
        return Said(subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE,
                                   stdin=subprocess.DEVNULL, env={**environment, **(env or {})}))

    def both(self, *arguments):
        """Runs the command without and with the daemon; "{}" in an argument becomes "alone" or "daemon"."""
        found = []
        for way, host in zip(("alone", "daemon"), self.hosts):
            found.append(self.run_one(*(str(argument).replace("{}", way) for argument in arguments), "--host", host))
        alone, through = found
        self.assertEqual(alone.notes, [])
        self.assertEqual(alone.status, through.status, "\n".join(alone.errors + ["---"] + through.errors))
        return alone, through

    def refused(self, status, *arguments):
        alone, through = self.both(*arguments)
        self.assertEqual(alone.status, status, alone.errors)
        self.assertNotEqual(alone.complaints(), [])
        self.assertEqual(alone.complaints(), through.complaints())

    def test_recording(self):
        target = self.spin()
        output = self.folder / "{}.collapsed"
        alone, through = self.both("record", "--pid", target.pid, "-d", "1s", "-o", output)
        self.assertEqual(alone.status, 0, alone.errors)
        self.assertEqual(len(through.notes), 1, "it says which daemon")
        self.assertEqual(alone.complaints(), through.complaints())
        seen = [collapsed((self.folder / f"{way}.collapsed").read_text()) for way in ("alone", "daemon")]
        functions = [{frame.plain for stack in stacks for frame in stack if frame.file} for stacks in seen]
        self.assertEqual(*functions)
        self.assertIn("spin", functions[0])
        self.assertEqual(harm(target.pid), [])

    def test_each_option_of_a_capture_reaches_the_collector(self):
        target = self.calling()
        done = subprocess.run([os.environ["PP_OPTIONS_REACH"], BINARY, str(target.pid), self.folder, *self.hosts],
                              capture_output=True, text=True, timeout=DEADLINE * 10, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout)
        arrived, tried = map(int, re.search(r"(\d+) of (\d+) options arrived", done.stdout).groups())
        self.assertEqual(arrived, tried)
        self.assertGreater(tried, 50)
        self.assertEqual(harm(target.pid), [])

    def test_a_trace(self):
        target = self.spin()
        self.both("record", "--pid", target.pid, "-d", "500ms", "-o", self.folder / "{}.pftrace")
        for way in ("alone", "daemon"):
            stacks = self.run_one("export", self.folder / f"{way}.pftrace", "--format", "collapsed", "-o", "-")
            self.assertEqual(stacks.status, 0, stacks.errors)
            self.assertIn("spin", stacks.output)

    def calling(self):
        """A Python process that calls functions for ever."""
        target = subprocess.Popen([PYTHON, "-c", CALLING], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(self._end, target)
        self.assertEqual(target.stdout.readline(), b"ready\n")
        return target

    def test_traces_of_calls(self):
        """Every option of a trace takes effect."""
        target = self.calling()
        for options, has, lacks in (
                ((), "leaf", "nobody"),
                (("--c-calls",), "abs", "nobody"),
                (("--filter", "*"), "leaf", "nobody"),
                (("--filter", "trunk", "--filter", "ä*"), "trunk", "leaf"),
                (("--exclude", "le[a]f"), "trunk", "leaf"),
                (("--min-duration", "1h"), None, "nobody"),
                (("--buffer", "1M", "--on-full", "stop"), "leaf", "nobody"),
                (("--buffer", "1M", "--on-full", "throttle"), "leaf", "nobody"),
                (("--steps", "3"), "leaf", "nobody"),
                (("--active", "2", "--wait", "1", "--warmup", "1", "--repeat", "1"), None, "nobody"),
                (("--schedule", "skip_first=1,wait=1,warmup=1,active=3,repeat=2"), None, "nobody"),
                (("--max-depth", "50"), "leaf", "nobody")):
            with self.subTest(options):
                alone, through = self.both("record", "--pid", target.pid, "--mode", "trace", "-d", "200ms", *options, "-o",
                                           self.folder / "{}.pftrace")
                self.assertEqual((alone.status, through.status), (0, 0), through.errors)
                for way in ("alone", "daemon"):
                    said = self.run_one("export", self.folder / f"{way}.pftrace", "--format", "text", "-o", "-")
                    self.assertEqual(said.status, 0, said.errors)
                    names = {line.split("(")[0].split()[-1] for line in said.output.splitlines() if "<string>" in line}
                    names |= {"abs"} & set(re.findall(r"\babs\b", said.output))
                    self.assertNotIn(lacks, names, said.output)
                    if has:
                        self.assertIn(has, names, said.output)
        self.assertEqual(harm(target.pid), [])

    def test_a_trace_if_it_can_be(self):
        target = self.calling()
        alone, through = self.both("record", "--pid", target.pid, "--mode", "auto", "-d", "300ms", "-o",
                                   self.folder / "{}.pftrace")
        self.assertEqual(alone.status, 0, alone.errors)
        chosen = [[line for line in said.errors if line.startswith(("sampling,", "tracing", "recording"))]
                  for said in (alone, through)]
        self.assertEqual(*chosen)
        self.assertEqual(harm(target.pid), [])

    def test_dump(self):
        target = self.spin()
        alone, through = self.both("dump", "--pid", target.pid, "--json")
        self.assertEqual(alone.status, 0, alone.errors)
        documents = [json.loads(said.output) for said in (alone, through)]
        self.assertEqual(*map(shape, documents))
        functions = [[frame["function"] for frame in document["processes"][0]["threads"][0]["frames"]]
                     for document in documents]
        self.assertEqual(*functions)
        alone, through = self.both("dump", "--pid", target.pid, "--locals")
        self.assertEqual(*(re.sub(r"\d+", "#", said.output).splitlines()[0] for said in (alone, through)))

    def test_ps(self):
        target = self.spin()
        alone, through = self.both("ps", "--json")
        self.assertEqual(alone.status, 0, alone.errors)
        rows = [next(row for row in json.loads(said.output) if row["pid"] == target.pid) for said in (alone, through)]
        self.assertEqual(*rows)

    def test_doctor(self):
        target = self.spin()
        for arguments in (["doctor", "--json"], ["doctor", "--pid", target.pid, "--json"],
                          ["doctor", "--pid", NO_SUCH_PID, "--json"]):
            with self.subTest(arguments):
                alone, through = self.both(*arguments)
                documents = [json.loads(said.output) for said in (alone, through)]
                for document in documents:  # collectors of a daemon are confined by its filter
                    document["checks"] = [check for check in document["checks"] if check["subject"] != "seccomp"]
                self.assertEqual(*(VARYING.sub("#", json.dumps(document, sort_keys=True)) for document in documents))

    def test_what_cannot_be(self):
        sleeper = subprocess.Popen(["sh", "-c", "echo ready; exec sleep 1000"], stdout=subprocess.PIPE)
        self.addCleanup(self._end, sleeper)
        sleeper.stdout.readline()
        while "sleep" not in os.readlink(f"/proc/{sleeper.pid}/exe") and \
                "coreutils" not in os.readlink(f"/proc/{sleeper.pid}/exe"):
            pass
        output = self.folder / "{}.collapsed"
        for command in (["record", "-d", "1s", "-o", output], ["dump"]):
            for pid in (NO_SUCH_PID, sleeper.pid, self.server.process.pid):
                with self.subTest((command[0], pid)):
                    alone, through = self.both(*command, "--pid", pid)
                    self.assertNotEqual(alone.status, 0)
                    tidy = [[line.replace("alone.", "#.").replace("daemon.", "#.") for line in said.complaints()]
                            for said in (alone, through)]
                    self.assertEqual(*tidy)
                    self.assertNotEqual(tidy[0], [])
        self.assertEqual(self.files(), [])

    def test_bad_values(self):
        target = self.spin()
        for options in (["--rate", "0"], ["--rate", "nan"], ["--rate", "-5"], ["-d", "-1s"], ["--max-depth", "0"],
                        ["--threads", "0"], ["--blocking", "--no-stops"], ["--nonsense"],
                        ["--max-overhead", "500%"], ["--mode", "auto", "--gil"], ["--mode", "trace", "--threads", "7"],
                        ["--mode", "trace", "--filter", "["], ["--mode", "trace", "--filter", "x" * 300],
                        ["--mode", "trace", *(["--exclude", "x"] * 65)], ["--mode", "trace", "--schedule", "active=0"],
                        ["--mode", "trace", "--on-full", "panic"], ["--mode", "trace", "--buffer", "3"],
                        ["--mode", "trace", "--steps", "-3"], ["--filter", "x"]):
            with self.subTest(options):
                alone, through = self.both("record", "--pid", target.pid, "-o", "-", *options)
                self.assertEqual(alone.status, 2, alone.errors)
                self.assertEqual(alone.complaints(), through.complaints())
        for pid in ("0", "-1", "x", "99999999999999999999"):
            with self.subTest(pid):
                self.refused(2, "dump", "--pid", pid)

    def test_no_daemon_there(self):
        missing = self.folder / "no.sock"
        said = self.run_one("ps", "--host", f"unix:{missing}")
        self.assertEqual(said.status, 9)
        self.assertIn(str(missing), " ".join(said.complaints()))
        said = self.run_one("ps", "--host", "nonsense")
        self.assertNotEqual(said.status, 0)
        self.assertIn("nonsense", " ".join(said.complaints()))

    def test_the_host_before_the_command(self):
        target = self.spin()
        for host in self.hosts:
            said = self.run_one("--host", host, "dump", "--pid", target.pid)
            self.assertEqual((said.status, len(said.notes)), (0, int(host != "none")), said.errors)
        for arguments, word in ((("--host", "x", "ps"), "'x' is not a server address"),
                                (("--host", f"unix:{self.folder}/no.sock", "ps"), "no socket"),
                                (("--pid", target.pid, "dump"), "'--pid' is before the command"),
                                (("--host", "none", "recrod"), "has no command 'recrod'"),
                                (("--host", "none"), "needs a subcommand"),
                                (("--versio",), "has no option '--versio'"),
                                (("captures",), "`ptrace-prof captures` needs a subcommand"),
                                (("captures", "lst"), "`ptrace-prof captures` has no command 'lst'"),
                                (("dump", "--pid", "--json", "7"), "--pid needs a value, but '--json' is an option"),
                                (("dump", "--pid"), "--pid needs a value"),
                                (("dump", "10025"), "did you mean --pid 10025?"),
                                (("record", "10025"), "did you mean --pid 10025?"),
                                (("record", "sleep", "1"), "put -- before the command"),
                                (("--host", "none", "completion", "bash"), "`completion` uses no daemon")):
            with self.subTest(arguments):
                said = self.run_one(*arguments)
                self.assertNotEqual(said.status, 0)
                self.assertIn(word, " ".join(said.errors))

    def test_the_environment_names_one_too(self):
        target = self.spin()
        said = self.run_one("dump", "--pid", target.pid, env={"PTRACE_PROF_HOST": self.hosts[1]})
        self.assertEqual(said.status, 0, said.errors)
        self.assertEqual(len(said.notes), 1, said.errors)


if __name__ == "__main__":
    main()

"""The units of packaging/systemd: how restricted they are by systemd's own measure, and the daemon under a real
systemd: activated, restricted, restarted, drained.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import systemd_node  # noqa: E402
from support import runner  # noqa: E402
from support.daemon import AS_USER, BINARY, USER, Probe, gone, state_of, within_deadline  # noqa: E402
from support.target_process import DEADLINE, status_fields  # noqa: E402

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "systemd"
SERVICE = PACKAGING / "ptrace-profd.service"
THRESHOLD = 30  # tenths
ADDRESS = "unix:/run/ptrace-prof/ptrace-prof.sock"
PYTHON = "/usr/bin/python3"
SPIN = "import time\ndef spin():\n    while True: sum(range(1000))\nprint('ready', flush=True)\nspin()"
NODE_TROUBLE = systemd_node.possible()


class Units(unittest.TestCase):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_the_score(self):
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--threshold={THRESHOLD}", "--no-pager",
                               SERVICE], capture_output=True, text=True, timeout=DEADLINE)
        score = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
        self.assertIsNotNone(score, done.stdout + done.stderr)
        print(f"systemd-analyze security: {score[1]}")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertLessEqual(float(score[1]), THRESHOLD / 10)


@unittest.skipIf(NODE_TROUBLE, NODE_TROUBLE)
class Service(unittest.TestCase):
    def setUp(self):
        service = SERVICE.read_text()
        self.assertIn("ExecStart=/usr/bin/ptrace-profd ", service)
        self.node = systemd_node.Node({
            "ptrace-profd.service": service.replace("/usr/bin/ptrace-profd", "/run/units/ptrace-profd"),
            "ptrace-profd.socket": (PACKAGING / "ptrace-profd.socket").read_text()}, programs=(BINARY,))
        self.addCleanup(self.node.close)
        self.node.must("systemd-sysusers", PACKAGING / "sysusers.d" / "ptrace-prof.conf")
        self.node.must("systemd-tmpfiles", "--create", PACKAGING / "tmpfiles.d" / "ptrace-prof.conf")
        self.node.must("systemctl", "start", "ptrace-profd.socket")

    def probe(self, *words, user=False):
        probe = Probe(ADDRESS, *words, prefix=(*self.node.inside, *(AS_USER if user else ())))
        self.addCleanup(probe.close)
        return probe

    def said(self, *words, **more):
        return self.probe(*words, **more).end()

    def show(self, *properties):
        lines = self.node.must("systemctl", "show", "ptrace-profd.service", *(f"-p{name}" for name in properties))
        return dict(line.split("=", 1) for line in lines.splitlines())

    def start(self, user=False):
        """The PID of a Python process, in the node's PID namespace."""
        process = subprocess.Popen([*self.node.inside, *(AS_USER if user else ()), PYTHON, "-c", SPIN],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        found = [pid for pid in self.node.must("pgrep", "-n", "-f", "def spin").split()]
        return int(found[-1])

    def host_pid(self, pid):
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError, KeyError, ValueError):
                spaces = status_fields(int(entry))["NSpid"].split()
                if len(spaces) > 1 and int(spaces[-1]) == pid:
                    return int(entry)
        raise AssertionError(f"no process {pid} on the node")

    def test_nothing_in_the_units_is_unknown(self):
        self.assertEqual(self.said("list"), [])
        self.node.must("systemctl", "reload", "ptrace-profd.service")
        self.assertEqual(self.said("list"), [])
        self.assertEqual(self.show("LoadState", "LoadError")["LoadState"], "loaded")
        self.assertNotRegex(self.node.words(), r"(?i)unknown key|ignoring|failed to parse")

    def test_the_first_client_starts_it_and_each_gets_what_is_due(self):
        self.assertEqual(self.show("ActiveState")["ActiveState"], "inactive")
        own, roots = self.start(user=True), self.start()
        self.assertEqual(self.said("ask", own, roots, user=True)[0], f"allowed {own}")
        self.assertRegex(self.said("ask", roots, user=True)[0], f"refused {roots} PERMISSION_DENIED")
        self.assertEqual(self.said("ask", own, roots), [f"allowed {own}", f"allowed {roots}"])
        shown = self.show("ActiveState", "StatusText", "MainPID")
        self.assertEqual(shown["ActiveState"], "active")
        self.assertIn("/run/ptrace-prof/ptrace-prof.sock", shown["StatusText"])
        for user, pid in ((True, own), (False, own), (False, roots), (True, f"trace:{own}")):
            with self.subTest(user=user, pid=pid):
                name = self.said("create", pid, 0.3, user=user)[-1].split()[1]
                last = self.said("watch", name, user=user)[-1]
                self.assertEqual(state_of(last), "STATE_SUCCEEDED", last)
                self.assertGreater(int(last.split()[3]), 1000)
        self.assertIn(f'"uid":{USER}', self.node.must("cat", "/var/log/ptrace-prof/audit.log"))

    def test_it_is_as_shut_in_as_the_unit_says(self):
        self.assertEqual(self.said("list"), [])
        main = self.host_pid(int(self.show("MainPID")["MainPID"]))
        seen = status_fields(main)
        self.assertEqual([int(seen[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")], [0] * 5)
        self.assertNotIn("0", seen["Uid"].split())
        self.assertEqual((seen["NoNewPrivs"], seen["Seccomp"]), ("1", "2"))
        children = pathlib.Path(f"/proc/{main}/task/{main}/children").read_text().split()
        launcher = status_fields(int(children[0]))
        names = re.search(r"^CapabilityBoundingSet=(.*)$", SERVICE.read_text(), re.MULTILINE)[1].split()
        bits = {"CAP_DAC_READ_SEARCH": 2, "CAP_KILL": 5, "CAP_SETGID": 6, "CAP_SETUID": 7, "CAP_SETPCAP": 8,
                "CAP_SYS_PTRACE": 19, "CAP_CHECKPOINT_RESTORE": 40}
        self.assertEqual(int(launcher["CapEff"], 16), sum(1 << bits[name] for name in names))
        self.assertEqual((launcher["NoNewPrivs"], launcher["Seccomp"]), ("1", "2"))
        self.assertNotEqual(os.readlink(f"/proc/{main}/ns/net"), os.readlink("/proc/self/ns/net"))
        for path in ("/usr", "/etc", "/var/log/ptrace-prof"):
            refused = subprocess.run(["nsenter", f"--target={main}", "--mount", "touch", f"{path}/x"], capture_output=True,
                                     text=True)
            self.assertEqual(refused.returncode == 0, path.startswith("/var/log"), refused.stderr)

    def test_a_death_is_made_good(self):
        target = self.start(user=True)
        name = self.said("create", target, 1000, user=True)[-1].split()[1]
        self.assertTrue(within_deadline(lambda: int(self.said("list", user=True)[0].split()[3]) > 0))
        first = self.show("MainPID")["MainPID"]
        main = self.host_pid(int(first))
        os.kill(main, signal.SIGKILL)
        self.assertTrue(within_deadline(lambda: gone(main)))
        line = self.said("list", user=True)[-1]  # waits until a new daemon answers
        self.assertEqual(line.split()[1:3], [name, "STATE_FAILED"], line)
        shown = self.show("MainPID", "NRestarts")
        self.assertNotEqual(shown["MainPID"], first)
        self.assertEqual(shown["NRestarts"], "1")
        last = self.said("watch", self.said("create", target, 0.2, user=True)[-1].split()[1], user=True)[-1]
        self.assertEqual(state_of(last), "STATE_SUCCEEDED", last)

    def test_stopping_drains_and_the_door_stays(self):
        target = self.start(user=True)
        name = self.said("create", target, 1000, user=True)[-1].split()[1]
        watcher = self.probe("watch", name, user=True)
        self.assertTrue(watcher.hear("STATE_RUNNING"))
        self.node.must("systemctl", "stop", "ptrace-profd.service")
        self.assertEqual(state_of(watcher.end()[-1]), "STATE_CANCELLED", watcher.lines)
        shown = self.show("Result", "ActiveState", "ExecMainStatus")
        self.assertEqual(shown, {"Result": "success", "ActiveState": "inactive", "ExecMainStatus": "0"})
        line = self.said("list", user=True)[-1]  # the socket is still there, and starts the daemon
        self.assertEqual(line.split()[1:3], [name, "STATE_CANCELLED"], line)


if __name__ == "__main__":
    runner.main()

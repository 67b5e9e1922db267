"""A user who connects to the daemon's socket and leaves again, in a loop and in many processes, or who keeps as many
connections as possible, does not keep other users from the daemon."""
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case  # noqa: E402
from support.daemon import AS_USER, Daemon, Place  # noqa: E402

PYTHON = "/usr/bin/python3"  # one that other users may run
FLOODS = 8
COMMANDS = 15
LONGEST = 5  # seconds; generous, for a machine that others use too
LEAVING = """
import socket, sys
print("ready", flush=True)
while True:
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(sys.argv[1])
    except OSError:
        pass
"""
SPINNING = """
print("ready", flush=True)
while True:
    pass
"""
STAYING = """
import resource, socket, sys, time
held = []
most = min(400, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
print("ready", flush=True)
while True:
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(1)
    try:
        one.connect(sys.argv[1])
        held.append(one)
    except OSError:
        time.sleep(0.01)
    del held[:-most]
"""


@unittest.skipUnless(os.geteuid() == 0, "takes root, to be two users")
class Floods(case.Case):
    def setUp(self):
        place = Place()
        self.addCleanup(place.close)
        self.daemon = Daemon(place, "--multi-user", "--socket", place.socket, "--spool", place.spool)
        self.addCleanup(self.daemon.close)

    @contextlib.contextmanager
    def flood(self, program):
        running = [subprocess.Popen([*AS_USER, PYTHON, "-I", "-S", "-c", program, self.daemon.place.socket],
                                    stdout=subprocess.PIPE) for _ in range(FLOODS)]
        try:
            for one in running:
                self.assertEqual(one.stdout.readline(), b"ready\n")
            time.sleep(0.3)
            yield
            self.assertEqual([one.poll() for one in running], [None] * FLOODS, "floods that ended")
        finally:
            for one in running:
                one.kill()
                one.wait()
                one.stdout.close()

    def commands(self, prefix=()):
        """How long each command took, in seconds. All of them must be answered."""
        took = []
        for _ in range(COMMANDS):
            begin = time.monotonic()
            probe = self.daemon.probe("list", prefix=prefix)
            lines = probe.end()
            took.append(time.monotonic() - begin)
            self.assertEqual((probe.status, [line for line in lines if line.startswith("error")]), (0, []))
        return took

    def test_who_connects_and_leaves(self):
        self.beside(LEAVING)

    def test_who_connects_and_stays(self):
        self.beside(STAYING)

    def beside(self, program):
        with self.flood(SPINNING):
            quiet = self.commands()
        with self.flood(program):
            flooded = self.commands()
            others = self.commands(prefix=("setpriv", "--reuid=54399", "--regid=54399", "--clear-groups"))
        print(f"root's command: {statistics.median(quiet) * 1e3:.0f} ms beside as many that only work, beside the flood {statistics.median(flooded) * 1e3:.0f}, "
              f"longest {max(flooded) * 1e3:.0f}; another user's {statistics.median(others) * 1e3:.0f}, longest {max(others) * 1e3:.0f}")
        self.assertLess(max(flooded), LONGEST)
        self.assertLess(max(others), LONGEST)
        self.commands()


if __name__ == "__main__":
    case.main()

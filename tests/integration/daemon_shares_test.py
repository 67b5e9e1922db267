"""One user takes all that the daemon gives (captures, live views, connections). Enough is left for another user, also
where the daemon may have few descriptors or few threads."""
import contextlib
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, case  # noqa: E402
from support.daemon import Daemon, Place, state_of  # noqa: E402

CONNECTIONS = 700
CAPTURES = 80
VIEWS = 40
ALICE, BOB = (access_cases.as_user(one) for one in (access_cases.ALICE, access_cases.BOB))
SPINS = """
import threading
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()"""
HOLDS = """
import socket, sys
held = []
for _ in range(int(sys.argv[2])):
    one = socket.socket(socket.AF_UNIX)
    one.settimeout(5)
    try:
        one.connect(sys.argv[1])
        one.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        held.append(one)
    except OSError:
        pass
print("ready", len(held), flush=True)
sys.stdin.read()
"""


@unittest.skipUnless(os.geteuid() == 0, "takes root, to be two users")
class Shares(case.Case):
    def test_one_user_leaves_enough_for_another(self):
        place = Place()
        self.addCleanup(place.close)
        daemon = Daemon(place, "--multi-user", "--socket", place.socket, "--spool", place.spool,
                        prefix=("prlimit", "--nofile=1024"))
        self.addCleanup(daemon.close)
        theirs = {user: access_cases.AccessTarget(user, access_cases.PYTHON, SPINS) for user in (ALICE, BOB)}
        for target in theirs.values():
            self.addCleanup(target.close)
        running = []
        self.addCleanup(lambda: [probe.close() for probe in running])
        with self.holding(place, ALICE):
            for _ in range(CAPTURES):
                daemon.probe("create", theirs[ALICE].pid, 100, prefix=ALICE).end()
            for _ in range(VIEWS):
                running.append(daemon.probe("stream", theirs[ALICE].pid, prefix=ALICE))
            for user in (BOB, ()):
                for _ in range(5):
                    last = daemon.probe("record", theirs[BOB].pid, 0.1, place.folder / "out.pftrace", prefix=user).end()[-1]
                    self.assertEqual(state_of(last), "STATE_SUCCEEDED", last)
                    (place.folder / "out.pftrace").unlink(missing_ok=True)
            view = daemon.probe("stream", theirs[BOB].pid, prefix=BOB)
            running.append(view)
            self.assertTrue(view.hear("batch"), view.lines)
        self.assertEqual(daemon.end(), 0)

    @contextlib.contextmanager
    def holding(self, place, user):
        with subprocess.Popen([*user, access_cases.PYTHON, "-I", "-S", "-c", HOLDS, place.socket, str(CONNECTIONS)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                self.assertTrue(process.stdout.readline().startswith("ready "))
                yield
            finally:
                process.stdin.close()


if __name__ == "__main__":
    case.main()

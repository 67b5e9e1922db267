#!/usr/bin/env python3
"""What the service costs its clients: starts a ptrace-profd and two targets, runs rpc_bench on them, prints its lines.

Build rpc_bench first: ./dev build release ptrace-prof ptrace-profd rpc_bench
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support.daemon import Daemon, Place  # noqa: E402
from support.terminal_run import PYTHON  # noqa: E402

SPIN = "print('ready', flush=True)\nwhile True: sum(range(1000))"
THREADS = """
import threading
gate = threading.Lock(); gate.acquire(); up = threading.Barrier(64)
def rest(): up.wait(); gate.acquire()
for _ in range(63): threading.Thread(target=rest, daemon=True).start()
up.wait(); print('ready', flush=True); gate.acquire()
"""


def target(code):
    process = subprocess.Popen([PYTHON, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


def main():
    place = Place()
    daemon = Daemon(place)
    targets = [target(SPIN), target(THREADS)]
    try:
        load = os.getloadavg()[0]
        print(f"{os.cpu_count()} cores, load {load:.1f} before", flush=True)
        return subprocess.run([ROOT / "build/bin/bench/rpc_bench", place.address, *(str(one.pid) for one in targets)]).returncode
    finally:
        for one in targets:
            one.kill()
            one.wait()
        daemon.end()
        daemon.close()
        place.close()


if __name__ == "__main__":
    sys.exit(main())

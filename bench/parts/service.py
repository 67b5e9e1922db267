"""The service's cost for its clients: runs bench/rpc_bench.cc against a ptrace-profd of its own."""
import json
import signal
import subprocess
from dataclasses import dataclass

from support.daemon import Daemon, Place
from support.terminal_run import PYTHON

CROWD_TARGETS = 10
_SPIN = "print('ready', flush=True)\nwhile True: sum(range(1000))"
_THREADS = """
import threading
gate = threading.Lock(); gate.acquire(); up = threading.Barrier(64)
def rest(): up.wait(); gate.acquire()
for _ in range(63): threading.Thread(target=rest, daemon=True).start()
up.wait(); print('ready', flush=True); gate.acquire()
"""


@dataclass
class Crowd:
    asked: int       # captures at the same time
    ended_well: int
    counted: int     # samples, as the service counts them
    in_traces: int   # samples that arrived
    not_taken: int   # samples counted as lost, idle or missed
    expected: int    # rate times time
    fewest: int      # samples of the capture with the fewest
    most: int

    @property
    def is_whole(self):
        """Whether every counted sample arrived, and the samples due by the rate were taken or counted as not taken."""
        return (self.ended_well == self.asked and self.counted == self.in_traces
                and self.counted + self.not_taken >= 0.8 * self.expected)


@dataclass
class Service:
    """The figures of the service. A list is empty if one of its measurements failed."""
    empty_us: list   # of a gRPC service that does nothing
    list_us: list    # ListCaptures, without captures
    status_us: list  # GetDaemonStatus
    first_sample_ms: list
    dump_ms: list
    read_bytes: int
    read_gb_per_s: list
    read_small_chunks_gb_per_s: list
    read_tls_gb_per_s: list
    read_tls_small_chunks_gb_per_s: list
    crowd: Crowd


def _target(code):
    process = subprocess.Popen([PYTHON, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError(f"a target ended with {process.wait()} before it was ready")
    return process


def measure(binary, rounds):
    place = Place()
    daemon = Daemon(place)
    targets = [_target(code) for code in (_SPIN, _THREADS, *[_SPIN] * CROWD_TARGETS)]
    pids = [str(one.pid) for one in targets]
    try:
        # The crowd's targets are stopped while the other figures are measured, so that those do not suffer from a full
        # machine.
        for one in targets[2:]:
            one.send_signal(signal.SIGSTOP)
        done = subprocess.run([binary, place.address, str(rounds), *pids], capture_output=True, text=True)
    finally:
        for one in targets:
            one.kill()
            one.wait()
            one.stdout.close()
        daemon.end()
        daemon.close()
        place.close()
    if done.returncode != 0:
        raise RuntimeError(f"{binary} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    found = json.loads(done.stdout)
    return Service(**{**found, "crowd": Crowd(**found["crowd"])})

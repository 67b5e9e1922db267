"""A target process on a core of its own. It counts units of work in memory that is shared with the harness."""
import mmap
import os
import pathlib
import shlex
import struct
import subprocess
import time
from dataclasses import dataclass

TARGETS = pathlib.Path(__file__).resolve().parent.parent / "targets"
TARGET_CORE = 0
MOST_BUSY = 8  # the largest number of threads that count their work, in any scenario
GAPS, RING = 4096, 65_536  # see targets/pauses.py


@dataclass(frozen=True)
class Reading:
    cpu: float   # CPU seconds of its busy threads
    wall: float
    units: int

    def __sub__(self, other):
        return Reading(self.cpu - other.cpu, self.wall - other.wall, self.units - other.units)

    def __add__(self, other):
        return Reading(self.cpu + other.cpu, self.wall + other.wall, self.units + other.units)

    def per_unit_since(self, earlier):
        """(CPU seconds, wall seconds) per unit of work, or None if no work was done."""
        done = self - earlier
        return (done.cpu / done.units, done.wall / done.units) if done.units else None


def _inside_root(root, command):
    """`command` in `root`, with the targets at /mnt, in a mount namespace of its own; the process ID stays the same."""
    root = shlex.quote(root)
    script = " && ".join((
        "mount --make-rprivate /",
        f"mkdir -p {root}/mnt {root}/proc {root}/dev",
        f"mount --bind {shlex.quote(str(TARGETS))} {root}/mnt",
        f"mount -t proc proc {root}/proc",
        f"mount --rbind /dev {root}/dev",
        f"exec chroot {root} {shlex.join(command)}"))
    return ["unshare", "--mount", "sh", "-c", script]


class Target:
    """with Target(scenario, interpreter) as target: ... target.pid ..."""

    def __init__(self, scenario, interpreter):
        self.scenario, self.interpreter = scenario, interpreter
        folder = "/mnt" if interpreter.in_root else str(TARGETS)
        command = [interpreter.path, "-B", f"{folder}/{scenario.script}", *scenario.arguments]
        if interpreter.in_root:
            command = _inside_root(interpreter.root, command)
        self._memory = os.memfd_create("ptrace-prof-bench")
        size = GAPS + 8 * (1 + RING)
        os.truncate(self._memory, size)
        self._counters = mmap.mmap(self._memory, size)
        self._last = self._words()
        ready, theirs = os.pipe()
        environment = {**os.environ, "PP_COUNTER_FD": str(self._memory), "PP_READY_FD": str(theirs)}
        self._process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL",  # a leftover would disturb the next target
                                          "taskset", "-c", str(TARGET_CORE), *command], env=environment,
                                         pass_fds=(self._memory, theirs), stdin=subprocess.DEVNULL)
        self.pid = self._process.pid
        os.close(theirs)
        said = os.read(ready, 1)
        os.close(ready)
        if not said:
            status = self._process.wait()
            self._release()
            raise RuntimeError(f"the target {scenario.name} on {interpreter} ended with {status} before it was ready")

    def read(self):
        """The CPU time is from the target, because from outside it is only as precise as the scheduler's tick."""
        words = self._words()
        while any(now < before for now, before in zip(words, self._last)):  # struct.pack_into writes zeros first
            words = self._words()
        self._last = words
        return Reading(sum(words[1::2]) / 1e9, time.monotonic(), sum(words[0::2]))

    def gap_count(self):
        return struct.unpack_from("Q", self._counters, GAPS)[0]

    def gaps_since(self, count):
        """The length of each gap in seconds, at most the last RING of them."""
        now = self.gap_count()
        return [struct.unpack_from("Q", self._counters, GAPS + 8 * (1 + number % RING))[0] / 1e9
                for number in range(max(count, now - RING), now)]

    def _words(self):
        return struct.unpack_from(f"{2 * MOST_BUSY}Q", self._counters)

    def _release(self):
        self._counters.close()
        os.close(self._memory)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._release()

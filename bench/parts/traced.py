"""A worker (tests/targets/traced_work.py) on the target's core, and traces of it that are taken like a user's."""
import contextlib
import json
import os
import re

from parts.target import TARGET_CORE
from parts.tools import REPOSITORY, TOOL_CORE
from support import interpreters, profiler
from support.target_process import TargetProcess

DEMO = REPOSITORY / "tests/demo"
PACKAGES_IN_ROOT, DEMO_IN_ROOT = "/srv/packages", "/srv/demo"
TORCH = "usr/lib/python3/dist-packages/torch"


class Failed(Exception):
    """Something could not be measured; the message says why."""


def packages_of(minor):
    """The folder where ./dev setup bench installs the peers that run inside a target."""
    folder = interpreters.CACHE / f"bench-{minor}"
    return folder if (folder / "stamp").exists() else None


def with_torch():
    """Interpreters with PyTorch: Debian's own, and those of roots into which it was unpacked."""
    found = []
    for one in interpreters.discover():
        folder = os.path.join(one.root or "/", TORCH)
        if one.kind == "pyenv" or not os.path.isdir(folder):
            continue
        tag = "cpython-" + one.minor.replace(".", "")
        if any(tag in name for name in os.listdir(folder)):  # its extension module is for one version
            found.append(one)
    return found


def as_numbers(minor):
    return tuple(map(int, minor.split(".")))


class Worker(TargetProcess):
    def __init__(self, interpreter):
        packages, folders = packages_of(interpreter.minor), {DEMO_IN_ROOT: DEMO}
        environment = {"PP_DEMO": DEMO_IN_ROOT if interpreter.in_root else str(DEMO)}
        if packages:
            folders[PACKAGES_IN_ROOT] = packages
            environment["PP_PACKAGES"] = PACKAGES_IN_ROOT if interpreter.in_root else str(packages)
        super().__init__("traced_work.py", interpreter, env=environment, folders=folders)
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            os.sched_setaffinity(int(tid), {TARGET_CORE})

    def ask(self, *words):
        """Sends the words and returns the answer without its first word."""
        self.tell(" ".join(map(str, words)))
        answer, _, rest = self.hear().text.partition(" ")
        if answer == "failed":
            raise Failed(f"{words[0]} {words[1] if len(words) > 1 else ''} on CPython {self.interpreter.version}: {rest}")
        return rest

    def times(self, under, work, turns):
        """Thread CPU time of each turn, in ns."""
        return json.loads(self.ask("run", under, work, turns))

    def counted(self, work):
        """(events of Python functions, events of C functions) of one turn."""
        return tuple(map(int, self.ask("count", work).split()))


class Trace:
    """with Trace(worker, …) as trace: the worker's calls are traced; afterwards `trace` has the command's output."""

    def __init__(self, worker, *options):
        self._run = profiler.Recording(worker.pid, "--mode", "trace", "-d", "1h", *options,
                                       preexec=profiler.pinned_to(TOOL_CORE))
        self.words = ""

    @property
    def file(self):
        return self._run.trace

    @property
    def process(self):
        return self._run.process

    def __enter__(self):
        self._run.shows("MainThread")  # reported once the window has begun
        if self._run.process.poll() is not None:
            self.ended()
        return self

    def interrupt(self):
        self._run.interrupt()

    def ended(self):
        """Reads the output of a trace that has ended or is about to end."""
        finished = self._run.wait()
        self.words = finished.errors
        if finished.status != 0:
            raise Failed(f"record --mode trace: {finished.errors.strip()}")

    @property
    def lost(self):
        return self.number(r"lost ([\d,]+)")

    def number(self, pattern):
        """A number from the closing lines; None if they do not have it."""
        match = re.search(pattern, self.words)
        return int(match.group(1).replace(",", "")) if match else None

    def decimal(self, pattern):
        return float(re.search(pattern, self.words).group(1))

    def stop(self):
        if not self.words:
            self.interrupt()
            self.ended()

    def remove(self):
        self._run.remove()

    def __exit__(self, *_):
        try:
            self.stop()
        finally:
            self._run.remove()


@contextlib.contextmanager
def kept(trace):
    """Like `with trace`, but the file stays until the end of this block, also after trace.stop()."""
    try:
        yield trace.__enter__()
    finally:
        trace.remove()


def can_exclude():
    return "--exclude" in profiler.run("record", "--help").output

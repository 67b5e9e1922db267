"""The real `ptrace-prof` (PTRACE_PROF_BIN), run as a user runs it, and its outputs as data."""
import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

from .children import children_of
from .stacks import Frame
from .target_process import DEADLINE

BINARY = os.environ.get("PTRACE_PROF_BIN", str(pathlib.Path(__file__).resolve().parents[2] / "build/bin/ptrace-prof"))
# In a trace of a machine so busy that the collector gets no CPU until its lease has expired.
STARVED = "did not renew its lease in time"
_LABEL = re.compile(r"(?P<name>.*?) \((?P<file>.*?)(?::(?P<line>\d+))?\)\Z")
_COUNT = re.compile(r"\s(\d+)\Z")


class Finished:
    """A run that has ended: status (negative: the signal), output and errors."""

    def __init__(self, arguments, status, output, errors):
        self.arguments, self.status, self.output, self.errors = arguments, status, output, errors

    def __str__(self):
        return f"`ptrace-prof {' '.join(self.arguments)}` ended with {self.status}\n{self.output}{self.errors}"


class Running:
    """A run in progress, for tests that interfere with it."""

    def __init__(self, *arguments, preexec=None, prefix=()):
        self.arguments = [str(argument) for argument in arguments]
        self._output, self._errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.process = subprocess.Popen([*prefix, BINARY, *self.arguments], stdin=subprocess.DEVNULL, stdout=self._output,
                                        stderr=self._errors, preexec_fn=preexec)

    @property
    def pid(self):
        return self.process.pid

    def children(self):
        """The PIDs of the children, which are the collector. Empty before it was started and after it ended."""
        return children_of(self.pid)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def wait(self, deadline=DEADLINE):
        """Raises subprocess.TimeoutExpired if the run hangs."""
        try:
            status = self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            self.close()
            raise
        output, errors = (os.pread(file.fileno(), 1 << 28, 0).decode("utf-8", "replace")
                          for file in (self._output, self._errors))
        self.close()
        return Finished(self.arguments, status, output, errors)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._output.close()
        self._errors.close()


class Recording(Running):
    """`record` of a process into a temporary folder. `prefix`: in front of the command, which may then run as another
    user."""

    def __init__(self, pid, *options, preexec=None, prefix=()):
        self._folder = tempfile.TemporaryDirectory()
        if prefix:
            os.chmod(self._folder.name, 0o777)
        self.trace = pathlib.Path(self._folder.name, "out.pftrace")
        super().__init__("record", "--pid", pid, "-o", self.trace, *options, preexec=preexec, prefix=prefix)

    @property
    def spool(self):
        """The part of the trace that has been written so far."""
        return self.trace.with_name(self.trace.name + ".pftrace.tmp")

    def begun(self):
        """Waits until something was recorded, or the run has ended."""
        deadline = time.monotonic() + DEADLINE
        while self.process.poll() is None and not (self.spool.exists() and self.spool.stat().st_size):
            assert time.monotonic() < deadline, "nothing was recorded"
            time.sleep(0.005)

    def shows(self, name):
        """Waits until the trace has a function of that name, or the run has ended."""
        self.begun()
        deadline = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            with contextlib.suppress(FileNotFoundError):  # it is just ending
                if name.encode() in self.spool.read_bytes():
                    break
            assert time.monotonic() < deadline, f"nothing was recorded of {name}"
            time.sleep(0.005)

    def stacks(self):
        """Counter of stacks without process and thread; after wait()."""
        found = collections.Counter()
        if self.trace.exists():  # without a trace nothing was recorded, which is a success
            for stack, count in collapsed(must("export", self.trace, "--format", "collapsed", "-o", "-").output).items():
                found[python_frames(stack)] += count
        return found

    def _speedscope(self):
        return json.loads(must("export", self.trace, "--format", "speedscope", "-o", "-").output)

    def threads(self):
        """The name of each track."""
        return [profile["name"] for profile in self._speedscope()["profiles"]]

    def weights(self):
        """(name, weight of all samples) of each track."""
        return [(profile["name"], sum(profile["weights"])) for profile in self._speedscope()["profiles"]]

    def sequences(self):
        """The stacks of each thread in order of time (lists of plain names). One stack may stand for several samples.
        """
        document = self._speedscope()
        frames = [Frame(frame["name"]).plain for frame in document["shared"]["frames"]]
        return [[[frames[index] for index in sample] for sample in profile["samples"]] for profile in document["profiles"]]

    def remove(self):
        self.close()
        self._folder.cleanup()


def run(*arguments, deadline=DEADLINE):
    return Running(*arguments).wait(deadline)


def must(*arguments, deadline=DEADLINE):
    finished = run(*arguments, deadline=deadline)
    assert finished.status == 0, str(finished)
    return finished


@dataclass
class Thread:
    pid: int
    tid: int
    name: str
    stack: list  # of Frame, outermost first
    process: dict  # what the dump has on the process, without its threads
    raw: dict  # what the dump has on the thread


def dump(pid, *options):
    """All threads of a process now."""
    return parse_dump(json.loads(must("dump", "--pid", pid, "--json", *options).output))


def parse_dump(document):
    threads = []
    for process in document["processes"]:
        for thread in process["threads"]:
            stack = [Frame(frame["function"], frame.get("file", ""), frame.get("line", 0) or 0)
                     for frame in thread["frames"]]
            threads.append(Thread(process["pid"], thread["tid"], thread["name"], stack[::-1],
                                  {**process, "threads": None}, thread))
    return threads


_RATES = re.compile(r"(truncated|too deep|torn|with names gone) ([<>]?)([\d.]+) %")


def rates(finished):
    """The percentages of samples in the closing lines: {"truncated": 0.1, …}."""
    return {kind: float(number) for kind, _, number in _RATES.findall(finished.errors)}


def label(text):
    """A frame from "name (file:line)"."""
    match = _LABEL.match(text)
    if not match:
        return Frame(text)
    return Frame(match["name"], match["file"], int(match["line"] or 0))


def collapsed(text):
    """Counter of stacks (tuples of Frame, outermost first). Process and thread, where shown, are frames without a file.
    """
    stacks = collections.Counter()
    for line in text.splitlines():
        match = _COUNT.search(line)
        stacks[tuple(label(part) for part in line[:match.start()].split(";"))] += int(match.group(1))
    return stacks


def python_frames(stack):
    """Without the roots that name process and thread."""
    return tuple(frame for frame in stack if frame.file or frame.is_marker or frame.name == "<GC>")


def pinned_to(cpu):
    """For Running(preexec=…): pins the run to one CPU; None: any CPU."""
    return None if cpu is None else lambda: os.sched_setaffinity(0, {cpu})


def record(pid, seconds, *options, cpu=None):
    """Records and returns (Counter of stacks without process and thread, Finished)."""
    recording = Recording(pid, "--duration", f"{seconds}s", *options, preexec=pinned_to(cpu))
    try:
        finished = recording.wait(DEADLINE + 2 * seconds)
        assert finished.status == 0, str(finished)
        return recording.stacks(), finished
    finally:
        recording.remove()

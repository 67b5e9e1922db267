"""A real ptrace-profd (PTRACE_PROFD_BIN) on a socket of the test's own, and a small client for it (PP_DAEMON_PROBE)."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from .target_process import DEADLINE

_BIN = pathlib.Path(__file__).resolve().parents[2] / "build/bin"
BINARY = os.environ.get("PTRACE_PROFD_BIN", str(_BIN / "ptrace-profd"))
PROBE = os.environ.get("PP_DAEMON_PROBE", str(_BIN / "tests/daemon_probe"))
USER = 54321  # an ordinary user; not the number that stands for unmapped users
AS_USER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
ENDED = ("STATE_SUCCEEDED", "STATE_FAILED", "STATE_CANCELLED")


def within_deadline(condition):
    """Polls until the condition is true; returns whether it became true."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def gone(pid):
    """Whether no process has that PID, or only a zombie that its new parent has not reaped yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


class Place:
    """A temporary folder with room for a socket and a spool."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pp-daemon-"))
        os.chmod(self.folder, 0o777)  # for a daemon of an ordinary user, and for the spool of one that was root
        self.socket = self.folder / "run" / "p.sock"
        self.spool = self.folder / "spool"
        self.address = f"unix:{self.socket}"

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Daemon:
    """A daemon that was started and has reported that it listens, unless `listening` is False."""

    def __init__(self, place, *options, prefix=(), env=None, listening=True):
        self.place = place
        self._errors = tempfile.TemporaryFile()
        if not options:
            options = ("--socket", place.socket, "--spool", place.spool)
        self.process = subprocess.Popen([*prefix, BINARY, *map(str, options)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self._errors, env=env, cwd="/")
        if listening:
            self.hear("event=listening")

    @property
    def pid(self):
        return self.process.pid

    def words(self):
        return os.pread(self._errors.fileno(), 1 << 20, 0).decode()

    def hear(self, word):
        assert within_deadline(lambda: word in self.words() or self.process.poll() is not None), self.words()
        assert word in self.words(), self.words()

    @property
    def launcher(self):
        return next(pid for pid in children(self.pid) if BINARY.encode() in _command(pid))

    def collectors(self):
        parents = [self.pid, *children(self.pid)]
        return [pid for parent in parents for pid in children(parent) if b"__collector" in _command(pid)]

    def processes(self):
        return [self.pid, *children(self.pid), *self.collectors()]

    def probe(self, *words, prefix=()):
        return Probe(self.place.address, *words, prefix=prefix)

    def end(self, number=signal.SIGTERM):
        """Its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        self.process.stdout.close()
        self._errors.close()


def _command(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


class Probe:
    """One call, whose answers are lines: `capture NAME STATE BYTES ERROR`, `error CODE MESSAGE`."""

    def __init__(self, *words, prefix=(), env=None):
        with open(PROBE, "rb") as program:  # other users may not enter the folders that contain it
            self.process = subprocess.Popen([*prefix, f"/proc/self/fd/{program.fileno()}", *map(str, words)],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                            pass_fds=(program.fileno(),), env=env)
        self.lines = []

    def hear(self, word):
        """Reads up to the line that contains this text. An empty line means that the output has ended."""
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if word in line:
                return self.lines[-1]
        return ""

    def end(self):
        """All lines; `status` then holds the exit status."""
        self.hear("\0")
        self.status = self.process.wait(DEADLINE)
        self.process.stdout.close()
        return self.lines

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        self.process.stdout.close()


def state_of(line):
    return line.split()[2] if line.startswith("capture ") else ""

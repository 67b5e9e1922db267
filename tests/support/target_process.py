"""A real process to be profiled. It starts, says "ready", and is killed and reaped at the end.

A target talks to its test over one socket (tests/targets/pact.py). Each message carries the host PID of its sender,
filled in by the kernel, so PIDs are right in any PID namespace. The target dies with the test.
"""
import contextlib
import ctypes
import os
import pathlib
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass

TARGETS = pathlib.Path(__file__).resolve().parent.parent / "targets"
DEADLINE = 120.0  # seconds; generous: nothing here measures time
LASTS = 5.0
_PR_SET_PDEATHSIG = 1
_READ_CALLS = (0, 63)  # x86-64, aarch64
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Message:
    text: str
    pid: int  # of the sender, in our PID namespace


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _inside_root(root, arguments, folders):
    """The command that runs `arguments` in `root`, in new mount and PID namespaces, with the targets at /mnt."""
    folders = {"/mnt": TARGETS, **folders}
    script = " && ".join((
        "mount --make-rprivate /",
        f"mkdir -p {shlex.quote(root)}/proc {shlex.quote(root)}/dev",
        *(f"mkdir -p {shlex.quote(root + place)}" for place in folders),
        *(f"mount --bind {shlex.quote(str(folder))} {shlex.quote(root + place)}" for place, folder in folders.items()),
        f"mount -t proc proc {shlex.quote(root)}/proc",
        f"mount --rbind /dev {shlex.quote(root)}/dev",
        f"exec chroot {shlex.quote(root)} {shlex.join(arguments)}",
    ))
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "sh", "-c", script]


class TargetProcess:
    """with TargetProcess("longsleep.py", interpreter) as target: … target.pid …"""

    def __init__(self, script, interpreter, arguments=(), env=None, options=(), python=None, name=None, folders=None, prefix=()):
        """`python`: another executable to start the interpreter with. `name`: the script in TARGETS, or a path.
        `prefix`: in front of the command. `folders`: {place in a root: folder of ours}, for interpreters inside a root.
        """
        self.interpreter = interpreter
        arguments = [str(argument) for argument in arguments]
        self._messages = []
        self._in_root = in_root = interpreter is not None and interpreter.in_root
        if interpreter is None:  # no interpreter: the target is an executable
            command = [str(script), *arguments]
            self.script = str(script)
        else:
            self.script = name or (f"/mnt/{script}" if in_root else str(TARGETS / script))
            command = [*prefix, python or interpreter.path, *options, self.script, *arguments]
        if in_root:
            command = _inside_root(interpreter.root, command, folders or {})
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.settimeout(DEADLINE)
        self._stdout = tempfile.TemporaryFile()
        self._stderr = tempfile.TemporaryFile()
        self._fd = theirs.fileno()  # the descriptor has the same number in the target
        with theirs:
            environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0",
                           "PYTHONUNBUFFERED": "1", "PP_PACT_FD": str(self._fd), **(env or {})}
            environment.pop("PYTHONPATH", None)
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=self._stdout, stderr=self._stderr, env=environment,
                pass_fds=[theirs.fileno()], preexec_fn=_die_with_parent, start_new_session=True)
        self.pid = self._process.pid  # until a message shows another PID
        try:
            self.pid = self.expect("ready").pid
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def hear(self):
        """The next message."""
        if self._messages:
            return self._messages.pop(0)
        data, ancillary, _, _ = self._socket.recvmsg(1 << 20, 256)
        if not data:
            raise AssertionError(f"{self.script} ended without a word, status {self._process.poll()}:\n{self.stderr()}")
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                return Message(data.decode("utf-8", "surrogateescape"), struct.unpack("3i", payload)[0])
        raise AssertionError("a message without credentials")

    def expect(self, word):
        """The next message that begins with `word`. Other messages are kept for later."""
        passed = []
        while True:
            message = self.hear()
            if message.text.split(" ", 1)[0] == word:
                self._messages = passed + self._messages
                return message
            passed.append(message)

    def settle(self):
        """Waits until a thread of the target reads our socket. After "ready" it may still be on its way there."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            for tid in os.listdir(f"/proc/{self.pid}/task"):
                with contextlib.suppress(OSError):
                    words = pathlib.Path(f"/proc/{self.pid}/task/{tid}/syscall").read_text().split()
                    if len(words) > 1 and int(words[0]) in _READ_CALLS and int(words[1], 16) == self._fd:
                        return
            time.sleep(0.001)
        raise AssertionError(f"{self.script} never came to listen")

    def tell(self, word):
        self._socket.send(word.encode())

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self):
        """Waits for its own end and returns the exit status (negative: the signal)."""
        status = self._process.wait(DEADLINE)
        if self._in_root and status == 1 and "unshare: sigprocmask unblock failed" in self.stderr():
            return -signal.SIGKILL  # unshare cannot kill itself with SIGKILL as its child was killed
        return status

    def finish(self):
        """Asks it to end by itself, unless it has already done so."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.tell("finish")
        return self.wait()

    def alive(self):
        return self._process.poll() is None

    def stdout(self):
        return self._read(self._stdout)

    def stderr(self):
        return self._read(self._stderr)

    @staticmethod
    def _read(file):
        return os.pread(file.fileno(), 1 << 26, 0).decode("utf-8", "replace")

    def close(self):
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)  # its children too
            except ProcessLookupError:
                pass
            if self.pid != self._process.pid:
                try:
                    os.kill(self.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self._process.wait(DEADLINE)
        self._socket.close()
        self._stdout.close()
        self._stderr.close()


def status_fields(pid, tid=None):
    path = f"/proc/{pid}/status" if tid is None else f"/proc/{pid}/task/{tid}/status"
    with open(path, errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def harm(pid):
    """What is wrong with a process that should run undisturbed: a list of sentences, empty when all is well. A stop for
    a sample, by a collector that is about to end, is over in a moment."""
    deadline = time.monotonic() + LASTS
    while (found := _harm_now(pid)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def _harm_now(pid):
    found = []
    try:
        tids = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return [f"process {pid} is gone"]
    for tid in tids:
        try:
            fields = status_fields(pid, tid)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields["TracerPid"] != "0":
            found.append(f"thread {tid} is traced by {fields['TracerPid']}")
        if fields["State"][0] in "tT":
            found.append(f"thread {tid} is stopped: {fields['State']}")
        if fields["State"][0] == "Z" and tid == str(pid):
            found.append(f"process {pid} is a zombie")
    return found


def copy_of(path, folder, name):
    """A copy of an executable, for renamed, stripped and deleted ones."""
    destination = pathlib.Path(folder, name)
    shutil.copy2(os.path.realpath(path), destination)
    return destination

"""`ptrace-prof` on a pseudo-terminal, as a user runs it: a test reads its screen and presses its keys."""
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from .profiler import BINARY
from .target_process import DEADLINE
from .virtual_terminal import TYPE, VirtualTerminal

ENTER, ESCAPE, PAGE_DOWN, CTRL_Z = "\r", "\x1b", "\x1b[6~", "\x1a"
# Does what a shell does with one job in the foreground, but does not touch the terminal's modes. It prints "[stopped]"
# when the job is stopped, and lets the job go on when a line comes.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        sys.exit(os.waitstatus_to_exitcode(status) & 255)
    os.tcsetpgrp(0, os.getpgrp())
    os.write(1, b"[stopped]")
    os.read(0, 100)
    os.tcsetpgrp(0, job)
    os.kill(-job, signal.SIGCONT)
"""


class PtyRun:
    def __init__(self, *arguments, rows=30, columns=120, env=None, shell=False):
        """shell: run under a small shell, so that Ctrl-Z returns control to it."""
        self.terminal = VirtualTerminal(rows, columns)
        self.master, self._slave = pty.openpty()
        self._set_size(rows, columns)
        self.modes_before = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen(
            [*([sys.executable, "-c", SHELL] if shell else []), BINARY, *map(str, arguments)], stdin=self._slave, stdout=self._slave, stderr=self._slave,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**os.environ, "TERM": TYPE, "LC_ALL": "C.UTF-8", **(env or {})})

    def _set_size(self, rows, columns):
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns, is_told=True):
        self.terminal.resize(rows, columns)
        self._set_size(rows, columns)
        if is_told:
            self.process.send_signal(signal.SIGWINCH)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def read(self, timeout):
        """Whether something came."""
        if not select.select([self.master], [], [], timeout)[0]:
            return False
        try:
            data = os.read(self.master, 1 << 16)
        except OSError as error:
            if error.errno == errno.EIO:
                return False
            raise
        self.terminal.feed(data)
        return bool(data)

    def await_screen(self, holds, what):
        """Waits until holds(terminal); returns its text."""
        deadline = time.monotonic() + DEADLINE
        while not holds(self.terminal):
            if self.process.poll() is not None and not self.read(0):
                raise AssertionError(f"ended with {self.process.returncode} before: {what}\n{self.terminal.text()}")
            assert time.monotonic() < deadline, f"never came: {what}\n{self.terminal.text()}"
            self.read(0.1)
        return self.terminal.text()

    def await_text(self, *words):
        return self.await_screen(lambda terminal: all(word in terminal.text() for word in words), f"{words} on the screen")

    def await_no(self, word):
        return self.await_screen(lambda terminal: word not in terminal.text(), f"no {word!r} on the screen")

    def end(self):
        """Reads on until the process has ended; returns the exit status."""
        deadline = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"does not end\n{self.terminal.text()}"
            self.read(0.05)
        while self.read(0):
            pass
        return self.process.returncode

    def modes(self):
        return termios.tcgetattr(self._slave)

    def hang_up(self):
        os.close(self.master)
        os.close(self._slave)
        self.master = self._slave = -1

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        if self.master >= 0:
            self.hang_up()

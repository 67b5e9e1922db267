"""A sleeping process with a chosen user, group and PID, for tests of what happens when a PID is used again.

Needs root and Linux 5.5.
"""
import ctypes
import os
import signal
import struct

from .daemon import within_deadline

_CLONE3 = 435  # on every architecture
_SLEEP = "/bin/sleep"
_libc = ctypes.CDLL(None, use_errno=True)


def _fork(pid):
    """Like fork(2). `pid`: the PID of the child; None: any."""
    chosen = ctypes.c_int(pid or 0)
    arguments = struct.pack("<11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(chosen) if pid else 0, 1 if pid else 0, 0)
    child = _libc.syscall(_CLONE3, arguments, len(arguments))
    if child < 0:
        raise OSError(ctypes.get_errno(), f"clone3, as process {pid}")
    return child


class Sleeper:
    def __init__(self, uid):
        self.uid = uid
        self.pid = self._start(uid, None)

    def become(self, gid):
        """Replaces the process by another one with the same PID and this group."""
        pid = self.pid
        self.close()
        self.pid = self._start(gid, pid)

    def _start(self, gid, pid):
        pid = _fork(pid)
        if pid == 0:
            try:
                os.setgroups([])
                os.setresgid(gid, gid, gid)
                os.setresuid(self.uid, self.uid, self.uid)
                os.execv(_SLEEP, [_SLEEP, "1000"])
            finally:
                os._exit(1)
        assert within_deadline(lambda: os.readlink(f"/proc/{pid}/exe") == os.path.realpath(_SLEEP))
        return pid

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

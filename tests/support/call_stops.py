"""Stops another process at each of its system calls, so that a test can act between two of them. Needs Linux 5.3."""
import ctypes
import os
import signal
import struct

_SYSCALL, _DETACH, _SEIZE, _INTERRUPT, _INFO = 24, 17, 0x4206, 0x4207, 0x420E
_TELL_APART = 1  # PTRACE_O_TRACESYSGOOD
_ENTRY = 1
_ALL = 0x40000000  # __WALL
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, pid, address=0, data=0):
    done = _libc.ptrace(request, pid, address, data)
    if done < 0:
        raise OSError(ctypes.get_errno(), f"ptrace({request:#x})")
    return done


class CallStops:
    """with CallStops(pid) as calls: for number in calls: …  # it is about to make that call, and waits for us to go on

    Send the request that makes the process work before the loop, and leave the loop by `break`."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        _ptrace(_SEIZE, self.pid, 0, _TELL_APART)
        _ptrace(_INTERRUPT, self.pid)
        os.waitpid(self.pid, _ALL)
        return self

    def __iter__(self):
        while True:
            _ptrace(_SYSCALL, self.pid)
            _, status = os.waitpid(self.pid, _ALL)
            if not os.WIFSTOPPED(status):
                return
            if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80:
                info = ctypes.create_string_buffer(88)
                _ptrace(_INFO, self.pid, len(info), ctypes.addressof(info))
                if info.raw[0] == _ENTRY:
                    yield struct.unpack_from("<Q", info.raw, 24)[0]

    def __exit__(self, *_):
        _ptrace(_DETACH, self.pid)

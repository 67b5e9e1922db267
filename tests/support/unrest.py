"""Disturbances of a process while it is recorded: constant signals, SIGSTOP and SIGCONT, a debugger that comes and
goes."""
import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import time

SEIZE, INTERRUPT, DETACH, ANY_THREAD = 0x4206, 0x4207, 17, 0x40000000  # linux/ptrace.h, linux/wait.h
A_MOMENT = 0.001


def signals(pid):
    """A signal that is ignored by default. A tracer still gets it."""
    while True:
        os.kill(pid, signal.SIGURG)
        time.sleep(A_MOMENT)


def stops(pid):
    while True:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(random.uniform(0, 2 * A_MOMENT))
        os.kill(pid, signal.SIGCONT)
        time.sleep(random.uniform(0, 20 * A_MOMENT))


def debugger(pid):
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    while True:
        thread = int(random.choice(os.listdir(f"/proc/{pid}/task")))
        if ptrace(SEIZE, thread, None, None) == 0:
            ptrace(INTERRUPT, thread, None, None)
            _, status = os.waitpid(thread, ANY_THREAD)
            time.sleep(random.uniform(0, 3 * A_MOMENT))
            told = os.WSTOPSIG(status) if status >> 16 == 0 else 0
            ptrace(DETACH, thread, None, told)
        time.sleep(random.uniform(0, 2 * A_MOMENT))


KINDS = {"signals": signals, "stops": stops, "debugger": debugger}


@contextlib.contextmanager
def around(pid, kind):
    """None: no disturbance. In the end the process is continued."""
    if kind is None:
        yield
        return
    process = subprocess.Popen([sys.executable, __file__, kind, str(pid)])
    try:
        yield
    finally:
        process.kill()  # it may hold a thread, which the kernel then releases
        process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    KINDS[sys.argv[1]](int(sys.argv[2]))

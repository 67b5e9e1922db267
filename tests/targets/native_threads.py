"""Native threads that keep a PyThreadState but have no Python frame, like PyTorch's autograd threads.

Each is a pthread made through ctypes that takes the GIL (PyGILState_Ensure), releases it (PyEval_SaveThread) and sleeps
in C for ever, all in functions of libpython and libc: the start routine is assembled below (x86-64).
"""
import ctypes
import mmap
import platform
import struct
import threading
import pact

libc = ctypes.CDLL(None, use_errno=True)


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def start_routine():
    """ensure(); save(); for (;;) pause(); as machine code."""
    if platform.machine() != "x86_64":
        raise SystemExit("only x86-64")
    code = b"\x53"  # push %rbx: aligns the stack
    for function in (ctypes.pythonapi.PyGILState_Ensure, ctypes.pythonapi.PyEval_SaveThread):
        code += b"\x48\xb8" + struct.pack("<Q", address(function)) + b"\xff\xd0"  # mov $function,%rax; call *%rax
    loop = b"\x48\xb8" + struct.pack("<Q", address(libc.pause)) + b"\xff\xd0"
    code += loop + b"\xeb" + struct.pack("<b", -(len(loop) + 2))  # jmp back to the loop
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    return page, ctypes.addressof(ctypes.c_char.from_buffer(page))


def count_of_states():
    return len(threads_seen())


def threads_seen():
    """Counts thread states, not threads: walks them through the C API."""
    api = ctypes.pythonapi
    for name in ("PyInterpreterState_Head", "PyInterpreterState_ThreadHead", "PyThreadState_Next"):
        getattr(api, name).restype = ctypes.c_void_p
    state = api.PyInterpreterState_ThreadHead(ctypes.c_void_p(api.PyInterpreterState_Head()))
    seen = []
    while state:
        seen.append(state)
        state = api.PyThreadState_Next(ctypes.c_void_p(state))
    return seen


release = threading.Event()


def python_wait():
    release.wait()


def main():
    page, entry = start_routine()
    threading.Thread(target=python_wait, name="python-thread", daemon=True).start()
    for _ in range(3):
        thread = ctypes.c_ulong()
        failed = libc.pthread_create(ctypes.byref(thread), None, ctypes.c_void_p(entry), None)
        assert not failed, failed
    while count_of_states() < 5:  # ourselves, the Python thread, three native ones
        pass
    pact.say("ready")
    pact.hear()
    print("ended well", flush=True)
    import os
    os._exit(0)


main()

"""A job that an exact trace cannot get into, for one of several reasons. Its main thread waits for its end, a worker works.

Argument: frames (another tool evaluates them, up to 3.11), profiler (the only place is taken), files (none may exceed
16 KiB, and SIGXFSZ has its default action, as in programs that embed Python), or nothing.
"""
import ctypes
import mmap
import resource
import signal
import struct
import sys
import threading
import pact

kept = []  # objects whose addresses the interpreter holds


def add(number):
    return number + 1


def work():
    number = 0
    while True:
        number = add(number)


def evaluate_frames():
    """Evaluates frames through machine code that jumps to the interpreter's own function: x86-64."""
    address = ctypes.cast(ctypes.pythonapi._PyEval_EvalFrameDefault, ctypes.c_void_p).value
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\x48\xb8" + struct.pack("<Q", address) + b"\xff\xe0")  # mov rax, address; jmp rax
    kept.append(code)
    api = ctypes.pythonapi
    api.PyInterpreterState_Main.restype = ctypes.c_void_p
    api._PyInterpreterState_SetEvalFrameFunc.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    api._PyInterpreterState_SetEvalFrameFunc(api.PyInterpreterState_Main(), ctypes.addressof(ctypes.c_char.from_buffer(code)))


def take_the_profilers_place():
    if hasattr(sys, "monitoring"):
        for tool in (3, 4):
            sys.monitoring.use_tool_id(tool, "another")
    else:
        sys.setprofile(lambda *_: None)
        threading.setprofile(lambda *_: None)


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))


mode = sys.argv[1]
{"frames": evaluate_frames, "profiler": take_the_profilers_place, "files": limit_files, "nothing": lambda: None}[mode]()
threading.Thread(target=work, daemon=True).start()
pact.say("ready")
while pact.hear() != "finish":
    pass

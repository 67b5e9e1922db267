"""Runs a program whose disk fails: failing_disk.py OFFSET PROGRAM [ARGUMENTS…].

The kernel itself (seccomp) answers every pwrite(2) at OFFSET or beyond with EIO, for the program and its children.
ptrace-profd writes traces with pwrite, and writes nothing else with it.
"""
import ctypes
import os
import platform
import struct
import sys

LOAD, EQUAL, AT_LEAST, GREATER, RETURN = 0x20, 0x15, 0x35, 0x25, 0x06
ALLOW, FAIL = 0x7FFF0000, 0x00050000 | 5  # SECCOMP_RET_ERRNO | EIO
PWRITE = {"x86_64": 18, "aarch64": 68}[platform.machine()]
NUMBER, OFFSET = 0, 16 + 3 * 8  # in struct seccomp_data: nr, and the low half of args[3]
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2


def install(offset):
    program = [(LOAD, 0, 0, NUMBER), (EQUAL, 0, 5, PWRITE), (LOAD, 0, 0, OFFSET + 4), (GREATER, 2, 0, 0),
               (LOAD, 0, 0, OFFSET), (AT_LEAST, 0, 1, offset), (RETURN, 0, 0, FAIL), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    libc = ctypes.CDLL(None, use_errno=True)
    described = Program(len(program), ctypes.cast(code, ctypes.c_void_p))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(described), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


install(int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])

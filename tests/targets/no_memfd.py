"""Works under a system call filter of its own by which it may make no memfd (EPERM), as jobs in sandboxes do."""
import ctypes
import platform
import select
import struct
import pact

MEMFD_CREATE = {"x86_64": 319, "aarch64": 279}[platform.machine()]
EPERM = 1
PR_SET_SECCOMP, MODE_FILTER = 22, 2
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH = 0x7fff0000, 0x00050000


def forbid_memfds():
    program = b"".join(struct.pack("<HBBI", *one) for one in (
        (LOAD_NUMBER, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, MEMFD_CREATE), (RETURN, 0, 0, FAIL_WITH | EPERM), (RETURN, 0, 0, ALLOW)))
    instructions = ctypes.create_string_buffer(program, len(program))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    about = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(instructions))
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.c_char_p(about), 0, 0) != 0:
        raise SystemExit(f"prctl: errno {ctypes.get_errno()}")


def add(number):
    return number + 1


forbid_memfds()
pact.say("ready")
count = 0
while not select.select([pact.descriptor()], [], [], 0)[0]:
    for _ in range(1000):
        count = add(count)

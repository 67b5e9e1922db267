"""Installs a system call filter (seccomp) in the calling process, as sandboxes do: `forbid`."""
import ctypes
import struct

EPERM, EACCES = 1, 13
FAIL_WITH, KILL_PROCESS, ALLOW = 0x00050000, 0x80000000, 0x7fff0000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_EQUAL, JUMP_IF_ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER_AT, THIRD_ARGUMENT_AT = 0, 32


def forbid(call, action, only_with_third=None):
    """`action`: FAIL_WITH | errno, or KILL_PROCESS; `only_with_third`: only if the third argument has any of these."""
    about_third = [] if only_with_third is None else [(LOAD_WORD, 0, 0, THIRD_ARGUMENT_AT),
                                                      (JUMP_IF_ANY_BIT, 0, 1, only_with_third)]
    install([(LOAD_WORD, 0, 0, NUMBER_AT), (JUMP_IF_EQUAL, 0, len(about_third) + 1, call), *about_third,
             (RETURN, 0, 0, action), (RETURN, 0, 0, ALLOW)])


def install(instructions):
    program = b"".join(struct.pack("<HBBI", *one) for one in instructions)
    kept = ctypes.create_string_buffer(program, len(program))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    about = struct.pack("<HxxxxxxQ", len(instructions), ctypes.addressof(kept))
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.c_char_p(about), 0, 0) != 0:
        raise SystemExit(f"prctl: errno {ctypes.get_errno()}")

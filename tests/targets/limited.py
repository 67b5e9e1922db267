"""A job with a limit or policy that could prevent loading our code. It works until the next word, and then ends.
Argument: locks (all its memory, present and future), locks-all (and may not exceed its limit for that), kills or fails
(a system call filter, for memfd_create), no-code (another, which allows no memory to become executable, like SELinux'
execmem), no-new-code (PR_SET_MDWE), or nothing.
"""
import ctypes
import platform
import select
import struct
import sys
import call_filter
import pact

MEMFD_CREATE, MMAP = {"x86_64": (319, 9), "aarch64": (279, 222)}[platform.machine()]
PROT_EXEC = 4
MCL_CURRENT, MCL_FUTURE, CAP_IPC_LOCK = 1, 2, 14
CAPABILITY_VERSION_3 = 0x20080522
PR_SET_MDWE, NO_EXEC_GAIN = 65, 1
libc = ctypes.CDLL(None, use_errno=True)


def add(number):
    return number + 1


def must(result, what):
    if result != 0:
        raise SystemExit(f"{what}: errno {ctypes.get_errno()}")


def lock_memory():
    must(libc.mlockall(MCL_CURRENT | MCL_FUTURE), "mlockall")


def lock_all_that_may_be():
    lock_memory()
    header, sets = struct.pack("<Ii", CAPABILITY_VERSION_3, 0), ctypes.create_string_buffer(24)
    must(libc.capget(header, sets), "capget")
    words = list(struct.unpack("<6I", sets.raw))
    for i in (0, 1, 2):
        words[i] &= ~(1 << CAP_IPC_LOCK)
    must(libc.capset(header, struct.pack("<6I", *words)), "capset")


MODES = {
    "nothing": lambda: None,
    "locks": lock_memory,
    "locks-all": lock_all_that_may_be,
    "kills": lambda: call_filter.forbid(MEMFD_CREATE, call_filter.KILL_PROCESS),
    "fails": lambda: call_filter.forbid(MEMFD_CREATE, call_filter.FAIL_WITH | call_filter.EPERM),
    "no-code": lambda: call_filter.forbid(MMAP, call_filter.FAIL_WITH | call_filter.EACCES, only_with_third=PROT_EXEC),
    "no-new-code": lambda: must(libc.prctl(PR_SET_MDWE, NO_EXEC_GAIN, 0, 0, 0), "prctl"),
}
MODES[sys.argv[1]]()
pact.say("ready")
number = 0
while not select.select([pact.descriptor()], [], [], 0)[0]:
    for _ in range(1000):
        number = add(number)

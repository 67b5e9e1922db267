"""Works under a system call filter of its own that allows no memfd, as jobs in sandboxes do. Argument: "fails" (EPERM),
or "kills" (the calling process)."""
import platform
import select
import sys
import call_filter
import pact

MEMFD_CREATE = {"x86_64": 319, "aarch64": 279}[platform.machine()]


def add(number):
    return number + 1


call_filter.forbid(MEMFD_CREATE, {"fails": call_filter.FAIL_WITH | call_filter.EPERM, "kills": call_filter.KILL_PROCESS}[sys.argv[1]])
pact.say("ready")
count = 0
while not select.select([pact.descriptor()], [], [], 0)[0]:
    for _ in range(1000):
        count = add(count)

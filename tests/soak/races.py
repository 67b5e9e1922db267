"""Races between a request and a change of a process that makes it unreadable for its user, at a random moment around
the attach. What the process does after the change must never be in what that user recorded.

Each target calls open_to_all, and calls secret once the kernel would refuse its user: it is not dumpable any more,
takes another user's number, becomes a set-user-ID or set-group-ID program, gains a capability by a file's, is a program
that may not be read, or ends and its PID is reused by a process of root's. The user asks by the command alone and
through a daemon for all users, for samples and for traces. In the end every kind must also have been recorded before it
changed, or else nothing was tested.
"""
import collections
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import access_cases, profiler, soak  # noqa: E402
from support.daemon import Daemon, Place  # noqa: E402

ALICE = access_cases.ALICE
AS_ALICE = access_cases.as_user(ALICE)
CALLERS = ("alone", "through the daemon")
BODY = """
import ctypes, os, sys, time
def open_to_all(until):
    total = 0
    while time.monotonic() < until:
        total += step_in_the_open(total)
def step_in_the_open(n):
    return n & 1
def secret(until):
    # While the process is traced, the kernel grants a program that it begins no privileges: then it is still hers.
    if os.getuid() == %d and ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 1:
        os._exit(0)
    total = 0
    while time.monotonic() < until:
        total += step_in_secret(total)
def step_in_secret(n):
    return n & 1
""" % ALICE
SECOND = "ptrace-prof-second.py"  # scripts are files, as anyone may read names in the arguments
# The change between the two calls.
CHANGES = {
    "not dumpable": "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)",
    "another user's": None,  # see start()
    "a set-user-ID program": "os.execv(sys.argv[2], [sys.argv[2], '-I', '-S', sys.argv[3]])",
    "a set-group-ID program": "os.execv(sys.argv[2], [sys.argv[2], '-I', '-S', sys.argv[3]])",
    "a program with a capability": "os.execv(sys.argv[2], [sys.argv[2], '-I', '-S', sys.argv[3]])",
    "a program that she may not read": "os.execv(sys.argv[2], [sys.argv[2], '-I', '-S', sys.argv[3]])",
    "the number of root's process": "os._exit(0)",
}
_CLONE3 = 435
_libc = ctypes.CDLL(None, use_errno=True)


def program(folder, kind):
    """The program that a target of that kind executes."""
    path = pathlib.Path(folder, kind.replace(" ", "-"))
    if not path.exists():
        shutil.copyfile(os.path.realpath(access_cases.PYTHON), path)
        owner, mode = {"a set-user-ID program": ((0, 0), 0o4755), "a set-group-ID program": ((0, access_cases.OTHER_GROUP), 0o2755),
                       "a program that she may not read": ((0, 0), 0o711)}.get(kind, ((0, 0), 0o755))
        os.chown(path, *owner)
        os.chmod(path, mode)
        if kind == "a program with a capability":  # cap_net_raw+ep, as vfs_cap_data of revision 2
            os.setxattr(path, "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
    return str(path)


def write(folder, name, text):
    path = pathlib.Path(folder, name)
    if not path.exists():
        path.write_text(text)
        os.chmod(path, 0o644)
    return str(path)


def second(folder):
    return write(folder, SECOND, BODY + "secret(time.monotonic() + 0.15)\n")


def start(folder, kind, opens):
    """A process that belongs to alice for `opens` seconds."""
    change = CHANGES[kind]
    before, prefix = "", AS_ALICE
    if change is None:
        # Her real and effective user ID, with root's saved: it can go back to root, and become bob. A process whose IDs
        # change is not dumpable; this one sets itself dumpable, until they change again.
        prefix = ()
        before = (f"os.setgroups([])\nos.setresgid({ALICE}, {ALICE}, {ALICE})\nos.setresuid({ALICE}, {ALICE}, 0)\n"
                  "ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)\n")
        bob = access_cases.BOB
        change = f"os.setresuid(0, 0, 0); os.setresgid({bob}, {bob}, {bob}); os.setresuid({bob}, {bob}, {bob})"
    script = write(folder, f"first {kind}.py", BODY + before + "print('ready', flush=True)\n"
                   f"open_to_all(time.monotonic() + float(sys.argv[1]))\n{change}\nsecret(time.monotonic() + 0.15)\n")
    more = [program(folder, kind)] if "program" in kind else [""]
    return subprocess.Popen([*prefix, access_cases.PYTHON, "-I", "-S", script, str(opens), *more, second(folder)],
                            stdout=subprocess.PIPE, cwd="/")


def take_number(pid, script):
    """A process of root's with that PID, which calls secret."""
    chosen = ctypes.c_int(pid)
    arguments = struct.pack("<11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(chosen), 1, 0)
    child = _libc.syscall(_CLONE3, arguments, len(arguments))
    if child == 0:
        try:
            os.execv(access_cases.PYTHON, [access_cases.PYTHON, "-I", "-S", script])
        finally:
            os._exit(1)
    return child if child > 0 else None


class Races:
    def __init__(self, place, parsed, table):
        self.place, self.random, self.table = place, parsed.random, table
        self.daemon = Daemon(place, "--multi-user", "--socket", place.socket, "--spool", place.spool)
        self.folder = place.folder / "hers"
        self.folder.mkdir()
        os.chown(self.folder, ALICE, ALICE)
        self.binary = place.folder / "ptrace-prof"  # she may not enter the folders that contain it
        shutil.copyfile(profiler.BINARY, self.binary)
        os.chmod(self.binary, 0o755)
        self.tries, self.open, self.told = collections.Counter(), collections.Counter(), collections.Counter()

    def close(self):
        self.daemon.close()

    def once(self, kind, caller):
        opens = self.random.uniform(0, 0.3)
        trace = self.folder / "out.pftrace"
        mode = self.random.choice(("sample", "trace"))
        with start(self.place.folder, kind, opens) as target:
            assert target.stdout.readline() == b"ready\n", kind
            host = "none" if caller == "alone" else self.place.address
            asking = subprocess.Popen([*AS_ALICE, self.binary, "record", "--pid", str(target.pid), "--mode", mode, "-d", "0.2s",
                                       *(("--rate", "400") if mode == "sample" else ()), "--host", host, "-o", trace], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/")
            taken = None
            if kind == "the number of root's process":
                target.wait()
                taken = take_number(target.pid, second(self.place.folder))
            said = asking.communicate(timeout=120)[1].decode()
            if taken is not None:
                os.kill(taken, signal.SIGKILL)
                os.waitpid(taken, 0)
            target.kill()
        recorded = trace.read_bytes() if trace.exists() else b""
        trace.unlink(missing_ok=True)
        self.tries[kind, caller] += 1
        self.open[kind, caller] += b"step_in_the_open" in recorded
        self.told[said.strip().splitlines()[-1].split("[")[-1].rstrip("]")[:40] if "error" in said else "recorded"] += 1
        if b"step_in_secret" in recorded:
            self.table.fail(f"{kind}, {caller}, {mode}, open for {opens:.4f} s: what is secret was recorded: {said}")


def main():
    parsed = soak.arguments(__doc__, count=(1000, 4))
    if os.geteuid() != 0:
        sys.exit(77)  # takes root, to become other users
    table = soak.Table("it becomes", "asked", "tries", "with what came before", "false allows")
    with contextlib.closing(Place()) as place, contextlib.closing(Races(place, parsed, table)) as races:
        for number in range(parsed.count):
            for kind in CHANGES:
                for caller in CALLERS:
                    races.once(kind, caller)
        for (kind, caller), tries in sorted(races.tries.items()):
            table.add(kind, caller, tries, races.open[kind, caller], sum(line.startswith(f"{kind}, {caller},") for line in table.failures))
            if soak.FULL and kind != "another user's" and not races.open[kind, caller]:  # other IDs are saved
                table.fail(f"{kind}, {caller}: never recorded before it changed")
        for what, count in races.told.most_common():
            table.add(f"said: {what}", "", count, "", "")
        if races.daemon.end() != 0:
            table.fail(f"the daemon did not end well: {races.daemon.words()[-500:]}")
    table.end()


main()

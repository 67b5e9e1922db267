"""Callers and targets of every kind that decides whether the kernel lets a caller read a target, and the kernel's
answer.

Users are bare numbers that need no entry anywhere. Needs root.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from .children import children_of

PYTHON = "/usr/bin/python3"
ALICE, BOB, OTHER_GROUP = 54321, 54322, 54399


def as_user(uid, gid=None, groups=()):
    gid = uid if gid is None else gid
    chosen = f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"
    return ("setpriv", f"--reuid={uid}", f"--regid={gid}", chosen)


def other_root(folder):
    """The command line that runs another command in another root directory, in which all of our files are mounted."""
    script = 'mount --make-rprivate / && mount --rbind / "$0" && exec chroot "$0" "$@"'
    return ("unshare", "--mount", "sh", "-c", script, str(folder))


IN_USER_NAMESPACE = ("unshare", "--user")
IN_USER_NAMESPACE_AS_ROOT = ("unshare", "--user", "--map-root-user")
IN_PID_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child=SIGKILL")


def callers(folder):
    """{name of the caller: command to put in front of its own}"""
    return {
        "root": (),
        "root without CAP_SYS_PTRACE": ("setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"),
        "root without any capability": ("setpriv", "--bounding-set=-all", "--inh-caps=-all"),
        "alice": as_user(ALICE),
        "alice with bob's group": as_user(ALICE, groups=(BOB, OTHER_GROUP)),
        "alice with another primary group": as_user(ALICE, OTHER_GROUP),
        "alice in another root directory": (*other_root(folder), *as_user(ALICE)),
        "alice in a user namespace": (*as_user(ALICE), *IN_USER_NAMESPACE),
        "alice as root of a user namespace": (*as_user(ALICE), *IN_USER_NAMESPACE_AS_ROOT),
        "bob": as_user(BOB),
        "bob with root's group": as_user(BOB, 0, (0,)),
    }


_PLAIN = "pass"
_NOT_DUMPABLE = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)"
_CHANGED_USER = f"import os; os.setgroups([]); os.setresgid({ALICE}, {ALICE}, {ALICE}); os.setresuid({ALICE}, {ALICE}, {ALICE})"


def targets(folder):
    """{name of the target: (command in front, interpreter, Python code that the target runs on itself)}"""
    return {
        "root's": ((), PYTHON, _PLAIN),
        "root's, not dumpable": ((), PYTHON, _NOT_DUMPABLE),
        "root's without capabilities": (("setpriv", "--bounding-set=-all", "--inh-caps=-all"), PYTHON, _PLAIN),
        "root's with another group": (("setpriv", f"--regid={OTHER_GROUP}", "--clear-groups"), PYTHON, _PLAIN),
        "alice's": (as_user(ALICE), PYTHON, _PLAIN),
        "alice's, not dumpable": (as_user(ALICE), PYTHON, _NOT_DUMPABLE),
        "alice's with another group": (as_user(ALICE, OTHER_GROUP), PYTHON, _PLAIN),
        "alice's, that was root's": ((), PYTHON, _CHANGED_USER),
        "alice's of a set-user-ID program of root's": (as_user(ALICE), _special(folder, "suid-root", 0, 0o4755), _PLAIN),
        "alice's of a set-user-ID program of bob's": (as_user(ALICE), _special(folder, "suid-bob", BOB, 0o4755), _PLAIN),
        "alice's of a set-group-ID program": (as_user(ALICE), _special(folder, "sgid", OTHER_GROUP, 0o2755), _PLAIN),
        "alice's of a program that she may not read": (as_user(ALICE), _special(folder, "hidden", 0, 0o711), _PLAIN),
        "alice's with a capability": (("setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups",
                                       "--inh-caps=+net_raw", "--ambient-caps=+net_raw"), PYTHON, _PLAIN),
        "alice's in a user namespace": ((*as_user(ALICE), *IN_USER_NAMESPACE), PYTHON, _PLAIN),
        "alice's as root of a user namespace": ((*as_user(ALICE), *IN_USER_NAMESPACE_AS_ROOT), PYTHON, _PLAIN),
        "alice's in a PID namespace": ((*IN_PID_NAMESPACE, *as_user(ALICE)), PYTHON, _PLAIN),
        "alice's in another root directory": ((*other_root(folder), *as_user(ALICE)), PYTHON, _PLAIN),
        "bob's": (as_user(BOB), PYTHON, _PLAIN),
        "bob's in a user namespace": ((*as_user(BOB), *IN_USER_NAMESPACE), PYTHON, _PLAIN),
    }


def _special(folder, name, owner, mode):
    """A copy of the interpreter."""
    path = pathlib.Path(folder) / name
    if not path.exists():
        shutil.copyfile(os.path.realpath(PYTHON), path)
        os.chown(path, owner, owner)
        os.chmod(path, mode)
    return str(path)


class AccessTarget:
    """A Python process that waits. `pid`: its number in our PID namespace."""

    def __init__(self, prefix, interpreter, action):
        script = f"{action}\nprint('ready', flush=True)\nimport time\nwhile True: time.sleep(1000)"
        self.process = subprocess.Popen([*prefix, interpreter, "-I", "-S", "-c", script], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n", (prefix, interpreter)
        self.pid = self.process.pid
        while below := children_of(self.pid):
            self.pid = below[0]

    def close(self):
        with contextlib.suppress(ProcessLookupError):  # it may outlive the process that we started
            os.kill(self.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


_ORACLE = """
import ctypes, errno, os, sys
class Range(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("size", ctypes.c_size_t)]
libc = ctypes.CDLL(None, use_errno=True)
byte = ctypes.create_string_buffer(1)
for pid in sys.argv[1:]:
    ours, theirs = Range(ctypes.addressof(byte), 1), Range(None, 1)
    done = libc.process_vm_readv(int(pid), ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
    print(done < 0 and ctypes.get_errno() == errno.EFAULT, flush=True)
"""


def kernel_allows(prefix, pids):
    """[whether the kernel lets such a caller read the process]. Such a caller tries it, at an address that is not
    mapped."""
    done = subprocess.run([*prefix, PYTHON, "-I", "-S", "-c", _ORACLE, *map(str, pids)], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=sys.stderr)
    return [line == "True" for line in done.stdout.split()]

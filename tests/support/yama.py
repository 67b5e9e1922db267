"""kernel.yama.ptrace_scope = 1 for one program and all that it starts, whether or not this kernel has Yama.

As a program it stands in front of another: `yama.py SCOPE PROGRAM …`. The file under /proc/sys then contains SCOPE.

With SCOPE 1 or 2, system calls that ask as a tracer (ptrace(2), "Ptrace access mode checking": PTRACE_MODE_ATTACH) wait
for a process beside the program. It answers by Yama's rule: an ancestor, the tracer and a process with CAP_SYS_PTRACE
may continue, and the kernel then decides. All others get the error that Yama gives. (A seccomp filter with a listener:
needs root, Linux 5.5 and x86-64 or aarch64.)
"""
import array
import contextlib
import ctypes
import fcntl
import os
import pathlib
import platform
import re
import select
import socket
import struct
import sys

_ARCHITECTURES = {"x86_64": (0xC000003E, {"openat": 257, "open": 2, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311,
                                          "pidfd_getfd": 438}, 317),
                  "aarch64": (0xC00000B7, {"openat": 56, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
                                           "pidfd_getfd": 438}, 277)}
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_ATTACHING = (16, 0x4206)  # PTRACE_ATTACH, PTRACE_SEIZE
_EPERM, _EACCES = 1, 13
_CAP_SYS_PTRACE = 1 << 19
_AS_TRACER = re.compile(rb"/proc/(\d+)(?:/task/\d+)?/(mem|syscall|stack)")


_SCOPE = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
# This kernel was started for this test alone and has Yama (Debian's user-mode-linux, say), which then refuses by
# itself.
REAL = os.environ.get("PP_OWN_KERNEL") == "1" and _SCOPE.exists()


def set_real(scope):
    if REAL:
        _SCOPE.write_text(str(scope))


def prefix(scope):
    """The command in front of another."""
    return () if REAL else (sys.executable, "-I", "-S", str(pathlib.Path(__file__).resolve()), str(scope))


def _status(pid):
    with contextlib.suppress(OSError):
        return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    return None


def yama_allows(tid, target):
    """Whether the rule of scope 1 allows it. Also True if one of the two is gone."""
    ours, theirs = _status(tid), _status(target)
    if ours is None or theirs is None or ours["Tgid"] == theirs["Tgid"] or int(ours["CapEff"], 16) & _CAP_SYS_PTRACE:
        return True
    if theirs["TracerPid"].strip() == ours["Tgid"].strip():
        return True
    while theirs is not None and int(theirs["PPid"]) != 0:
        if theirs["PPid"] == ours["Tgid"]:
            return True
        theirs = _status(int(theirs["PPid"]))
    return False


def _path_of(tid, address):
    with contextlib.suppress(OSError), open(f"/proc/{tid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(64).split(b"\0")[0]
    return b""


def _pinned(tid, pidfd):
    with contextlib.suppress(OSError):
        found = re.search(r"^Pid:\t(\d+)", pathlib.Path(f"/proc/{tid}/fdinfo/{pidfd}").read_text(), re.MULTILINE)
        return int(found[1]) if found else 0
    return 0


def _judge(name, tid, arguments):
    """0, or an errno."""
    if name in ("openat", "open"):
        found = _AS_TRACER.fullmatch(_path_of(tid, arguments[1 if name == "openat" else 0]))
        return 0 if not found or yama_allows(tid, int(found[1])) else _EACCES if found[2] == b"mem" else _EPERM
    if name == "ptrace":
        return 0 if arguments[0] not in _ATTACHING or yama_allows(tid, arguments[1]) else _EPERM
    target = _pinned(tid, arguments[0]) if name == "pidfd_getfd" else arguments[0]
    return 0 if yama_allows(tid, target) else _EPERM


def _answer(listener):
    _, numbers, _ = _ARCHITECTURES[platform.machine()]
    names = {number: name for name, number in numbers.items()}
    while True:
        question = bytearray(80)
        try:
            fcntl.ioctl(listener, _RECEIVE, question)
        except InterruptedError:
            continue
        except OSError:  # ENOENT: the thread that asked is gone, or all of them
            if not _anybody(listener):
                return
            continue
        number, tid, _, call, _, _, *arguments = struct.unpack("<QIIiIQ6Q", question)
        refused = _judge(names[call], tid, arguments)
        with contextlib.suppress(OSError):
            fcntl.ioctl(listener, _SEND, bytearray(struct.pack("<QqiI", number, 0, -refused, 0 if refused else _CONTINUE)))


def _anybody(listener):
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    return not any(event & select.POLLHUP for _, event in poller.poll(0))


def _filter(libc):
    """The listener."""
    architecture, numbers, seccomp = _ARCHITECTURES[platform.machine()]
    code = [(0x20, 0, 0, 4), (0x15, 1, 0, architecture), (0x06, 0, 0, 0x7FFF0000), (0x20, 0, 0, 0)]
    for number in numbers.values():
        code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x7FC00000)]
    code.append((0x06, 0, 0, 0x7FFF0000))
    instructions = b"".join(struct.pack("<HBBI", *one) for one in code)
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(buffer)), 16)
    listener = libc.syscall(seccomp, 1, 8, program)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return listener


def _stand_beside():
    """Installs the filter in this process for good. The process that answers runs beside it and is not its child."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        if os.fork() != 0:
            os._exit(0)
        ours.close()
        _, control, _, _ = theirs.recvmsg(1, socket.CMSG_SPACE(4))
        listener = array.array("i", control[0][2])[0]
        os.closerange(0, listener)
        os.closerange(listener + 1, 1 << 16)
        _answer(listener)
        os._exit(0)
    os.wait()
    listener = _filter(ctypes.CDLL(None, use_errno=True))
    ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
    os.close(listener)


_SHOW_SCOPE = ("uid=$(cat /proc/sys/kernel/overflowuid) && mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && "
               "echo $uid > /proc/sys/kernel/overflowuid && echo $0 > /proc/sys/kernel/yama/ptrace_scope && exec \"$@\"")


if __name__ == "__main__":
    if sys.argv[1] in ("1", "2"):
        _stand_beside()
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "sh", "-c", _SHOW_SCOPE, *sys.argv[1:]])

"""Passes a socket on as a service manager does: socket_passer.py KIND PATH PROGRAM [ARGUMENTS…].

KIND: stream, datagram, network, silent (a stream that does not listen), two, file, other (for another process). PROGRAM
replaces this script, with the socket as descriptor 3 and LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES set.
"""
import os
import socket
import sys


def make(kind, path):
    if kind == "file":
        return os.open("/dev/null", os.O_RDONLY)
    if kind == "network":
        made = socket.socket(socket.AF_INET)
        made.bind(("127.0.0.1", 0))
    else:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if kind == "datagram" else socket.SOCK_STREAM)
        mask = os.umask(0)
        made.bind("\0" + path[1:] if path.startswith("@") else path)
        os.umask(mask)
    if kind not in ("silent", "datagram"):
        made.listen()
    return made.detach()


def main(kind, path, *command):
    passed = make(kind, path)
    for descriptor in (3, 4):
        if descriptor != passed:
            os.dup2(passed, descriptor)
        os.set_inheritable(descriptor, True)
    os.environ["LISTEN_PID"] = str(os.getppid() if kind == "other" else os.getpid())
    os.environ["LISTEN_FDS"] = "2" if kind == "two" else "1"
    os.environ["LISTEN_FDNAMES"] = "front:back" if kind == "two" else "ptrace-profd.socket"
    os.execv(command[0], command)


main(*sys.argv[1:])

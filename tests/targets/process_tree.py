"""A parent with two children (fork and exec) and a grandchild, all waiting, and a zombie that stays one.

Each of them says "process ROLE", and the kernel gives the test its PID. The test kills them all.
"""
import os
import subprocess
import sys
import threading
import pact


def wait_in(role):
    pact.say("process", role)
    pact.hear()


def forked_child():
    wait_in("forked")


def exec_child():
    wait_in("execed")


def grandparent():
    child = os.fork()
    if child == 0:
        wait_in("grandchild")
        os._exit(0)
    wait_in("child")
    os.waitpid(child, 0)


def start(function):
    pid = os.fork()
    if pid == 0:
        function()
        os._exit(0)
    return pid


def main():
    if sys.argv[1:] == ["exec_child"]:
        exec_child()
        return
    zombie = os.fork()
    if zombie == 0:
        os._exit(0)
    os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)  # dead, not reaped
    start(forked_child)
    start(grandparent)
    subprocess.Popen([sys.executable, sys.argv[0], "exec_child"], pass_fds=[pact.descriptor()])
    threading.Thread(target=wait_in, args=("thread",), daemon=True).start()
    pact.say("zombie", zombie)
    pact.say("ready")
    wait_in("parent")


main()

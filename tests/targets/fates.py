"""Works in two threads and a child, until at a random moment it meets a fate: exit, exec, fork-and-exit, abort, kill.

Arguments: fate, seed. Waits for "go" first, so that the moment is inside a recording.
"""
import os
import random
import signal
import sys
import threading
import pact


def spin(steps):
    total = 0
    for step in range(steps):
        total += step
    return total


def work():
    while True:
        spin(1000)


def leave():
    sys.exit(3)


def leave_at_once():
    os._exit(4)


def become_another():
    os.execv(sys.executable, [sys.executable, "-c", "print('another image')"])


def become_no_python():
    os.execv("/bin/sh", ["sh", "-c", "exit 5"])


def leave_a_child():
    if os.fork() == 0:
        spin(50_000)
        os._exit(0)
    os._exit(6)


def kill_itself():
    os.kill(os.getpid(), signal.SIGKILL)


def abort():
    signal.signal(signal.SIGABRT, signal.SIG_DFL)
    os.abort()


def exec_in_thread():
    threading.Thread(target=become_another).start()
    while True:
        spin(1000)


FATES = {"leave": leave, "leave_at_once": leave_at_once, "become_another": become_another,
         "become_no_python": become_no_python, "leave_a_child": leave_a_child, "kill_itself": kill_itself,
         "abort": abort, "exec_in_thread": exec_in_thread}


def main():
    fate, seed = FATES[sys.argv[1]], int(sys.argv[2])
    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    pact.say("ready")
    pact.hear()
    moment = random.Random(seed).randrange(300)
    for _ in range(moment):
        spin(2000)
    fate()


main()

"""Makes children one after another, each busy in `leaf` for a while, and ends. Arguments: how (fork, spawn), how many,
CPU seconds of each. Says "ready", waits for a word, and prints the CPU time of each child's `leaf` ("leaf SECONDS")."""
import os
import subprocess
import sys
import time
import pact


def leaf(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def fork(seconds):
    child = os.fork()
    if child == 0:
        leaf(seconds)
        os._exit(0)
    os.waitpid(child, 0)


def spawn(seconds):
    subprocess.run([sys.executable, __file__, "leaf", "0", str(seconds)], check=True)


def main():
    how, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    if how == "leaf":
        leaf(seconds)
        return
    pact.say("ready")
    pact.hear()
    for _ in range(count):
        (fork if how == "fork" else spawn)(seconds)


main()

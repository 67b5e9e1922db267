"""Forks children (their number is the argument) that wait until it ends."""
import os
import sys
import pact


def main():
    ours, theirs = os.pipe()
    for _ in range(int(sys.argv[1])):
        if os.fork() == 0:
            os.close(theirs)
            os.read(ours, 1)
            os._exit(0)
    pact.say("ready")
    pact.hear()
    os.close(theirs)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


main()

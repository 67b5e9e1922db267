"""Waits in a function whose code object is like those of Nuitka from CPython 3.11 on, and in an ordinary one."""
import pact


def compiled(call):
    call("Compiled function bytecode used")


def main():
    pact.say("ready")
    compiled(lambda _: pact.hear())  # line: wait
    print("ended well")


main()

"""Waits while an exception is being handled: in except, in a context manager's exit and in __del__."""
import pact


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        deleter = Deleter()
        del deleter  # line: exit
        return True


class Deleter:
    def __del__(self):
        handler()  # line: del


def handler():
    try:
        raise KeyError("inner")
    except KeyError:
        pact.say("ready")
        pact.hear()  # line: wait


def main():
    with Manager():  # line: main
        raise ValueError("outer")


main()

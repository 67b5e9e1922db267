"""The messages between a target and its test, over the socket PP_PACT_FD. Without it: none, and ready to run by hand.

Every target says "ready" when it does what it is for. Runs on Python 3.8 and later, like everything in this folder.
"""
import os
import select

_fd = int(os.environ.get("PP_PACT_FD", "-1"))


def say(*words):
    if _fd >= 0:
        os.write(_fd, " ".join(str(word) for word in words).encode("utf-8", "surrogateescape"))


def hear():
    """Waits for a message; "" when the test is gone."""
    if _fd < 0:
        return input()
    return os.read(_fd, 4096).decode()


def commands():
    """The words of each message, until `finish`. While it waits, Python functions are called, so that a tracer
    gets in, and out again."""
    while True:
        if select.select([descriptor()], [], [], 0.001)[0]:
            words = hear().split()
            if not words or words[0] == "finish":
                return
            yield words


def descriptor():
    return _fd

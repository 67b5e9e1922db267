"""Everything that a process may call as it likes is called what is no text: code, files, variables, threads, itself.

Prints "ready"; its threads compute for ever.
"""
import os
import threading
import types

BAD = "bad\udcff\ud800"  # bytes that are no UTF-8, as Python keeps them, and half of a surrogate pair


def template(work):
    text = "\ud83d and \udcfe"
    while True:
        work(text)


def named(function, name):
    code = function.__code__
    names = {"co_name": name, "co_filename": "/tmp/\udc80\ufffe\x1b[2J.py", "co_varnames": ("work\udcc3", "text\ud800")}
    if hasattr(code, "co_qualname"):
        names["co_qualname"] = f"Class\udced.{name}"
    return types.FunctionType(code.replace(**names), {})


begun = set()


def compute(text):
    begin()
    return len(text) * sum(range(1000))


def begin():
    """Says "ready" once both threads are where they stay."""
    if len(begun) < 2:
        begun.add(threading.get_ident())
        if len(begun) == 2:
            os.write(1, b"ready\n")


with open("/proc/self/comm", "wb") as comm:
    comm.write(b"\xff\xfe\xc3(")
threading.Thread(target=named(template, BAD + "1"), args=(compute,), name="thread\udcff\ud800", daemon=True).start()
named(template, BAD + "2")(compute)

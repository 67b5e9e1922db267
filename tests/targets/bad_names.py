"""All names that a process can choose are not UTF-8 here: of code, files, variables, threads, and its own.

Prints "ready"; its threads compute for ever.
"""
import os
import threading
import types

# Bytes that are not UTF-8, as Python keeps them; half of a surrogate pair; characters that change the direction of
# writing; invisible characters.
BAD = "bad\udcff\ud800\u202e\u2066\u200f\u061c\u2028\ufeff\x9b"


def template(work):
    text = "\ud83d and \u202e\udcfe"
    while True:
        work(text)


def named(function, name):
    code = function.__code__
    names = {"co_name": name, "co_filename": "/tmp/\udc80\ufffe\x1b[2J\u202d.py", "co_varnames": ("work\udcc3", "text\ud800\u2067")}
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
threading.Thread(target=named(template, BAD + "1"), args=(compute,), name="thread\udcff\ud800\u202e", daemon=True).start()
named(template, BAD + "2")(compute)

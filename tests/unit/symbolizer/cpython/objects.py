"""Holds many objects and prints for each where it is, what is asked of it, and what should come out.

    ADDRESS WHAT EXPECTED (hex of UTF-8)
"""
import collections
import os
import sys
import threading
import time

OUT = []
KEEP = []


def expect(obj, what, text):
    KEEP.append(obj)
    OUT.append("%d %s %s" % (id(obj), what, text.encode("utf-8", "surrogatepass").hex() or "-"))


def strings():
    texts = ["", "a", "ascii text", "x" * 5000, "caf\xe9", "\xe9" * 300, "\u043a\u0438\u0440\u0438\u043b\u043b\u0438\u0446\u0430",
             "\u20ac" * 4000, "\U0001f40d snake", "a\U0001f40d" * 1000, "nul\0inside", "\x7f\x80\xff"]
    for text in texts:
        expect("".join(list(text)), "string", text)
    expect("lone\udc80", "string", "lone\ufffd")

    class Text(str):  # not compact: the characters are apart from the object
        pass
    for text in texts[1:]:
        expect(Text(text), "string", text)


def numbers():
    for n in [0, 1, -1, 5, 255, 256, 257, -300, 2**30 - 1, 2**30, -2**30, 2**31, 2**60 - 1, 2**60, -2**60, 2**62, 2**63 - 1,
              -2**63 + 1, True, False]:
        expect(n, "int", str(int(n)))
    for n in [2**63, -2**64, 10**30]:
        expect(n, "int", "none")


def reprs():
    shared = [1, 2, 3]
    for value in [None, True, False, 0, -7, 123456789012345, 1.5, -0.0, 1.0, 1e100, 1e-7, float("inf"), 0.1, "text", "it's", 'say "hi"',
                  "both ' and \"", "tab\tnl\nbs\\", "\u20ac", b"bytes\x00\xff", [], [1, [2, [3]]], (), (1,), (1, "a", None),
                  {}, {"a": 1, "b": [1, 2]}, {1: 2, None: (3,)}, [shared, shared], {"k": {"l": {}}},
                  collections.OrderedDict(a=1) and dict(a=1)]:
        expect(value, "repr", repr(value))
    cycle = [1]
    cycle.append(cycle)
    expect(cycle, "repr", "[1, [1, [1, [...]]]]")
    loop = {}
    loop["me"] = loop
    expect(loop, "repr", "{'me': {'me': {'me': {...}}}}")
    expect(list(range(100)), "repr", "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ...]")
    expect("y" * 1000, "repr", "'" + "y" * 116 + "...")
    expect("\u20ac" * 1000, "repr", "'" + "\u20ac" * 38 + "...")
    deleted = {i: i for i in range(20)}
    for i in range(18):
        del deleted[i]
    expect(deleted, "repr", "{18: 18, 19: 19}")

    class Tensor:
        pass
    tensor = Tensor()
    expect(tensor, "repr", "<Tensor at 0x%x>" % id(tensor))
    made = threading.Lock()
    expect(made, "repr", "<%s at 0x%x>" % (type(made).__name__, id(made)))
    big = 10**40
    expect(big, "repr", "<int at 0x%x>" % id(big))
    named = collections.namedtuple("Point", "x y")(1, 2)
    expect(named, "repr", "(1, 2)")


def dicts():
    sizes = [0, 1, 5, 8, 100, 300, 40000, 70000]
    for n in sizes:
        expect({"k%d" % i: i for i in range(n)}, "items", str(n))
        expect({i: i for i in range(n)}, "items", str(n))
    mixed = {"a": 1}
    mixed[2] = 3
    expect(mixed, "items", "2")


class Plain:
    def __init__(self, n):
        for i in range(n):
            setattr(self, "a%02d" % i, i)


class WithSlots:
    __slots__ = ("s", "__dict__")
    __init__ = Plain.__init__


class Weird(Plain, Exception):
    pass


def attributes():
    def text(obj):
        return " ".join("%s=%r" % item for item in sorted(obj.__dict__.items()))

    for n in [1, 2, 5, 29, 31, 40]:
        expected = " ".join("%s=%r" % item for item in sorted(("a%02d" % i, i) for i in range(n)))
        kind = type("Plain%d" % n, (Plain,), {})
        untouched = kind(n)
        expect(untouched, "attributes", expected)
        touched = kind(n)
        touched.__dict__
        expect(touched, "attributes", expected)
        grown = kind(n)
        grown.__dict__["extra"] = 0
        del grown.__dict__["extra"]
        expect(grown, "attributes", expected)
        fewer = kind(n)
        fewer.b = 1
        del fewer.b
        expect(fewer, "attributes", expected)
    expect(WithSlots(3), "attributes", "a00=0 a01=1 a02=2")
    expect(Weird(2), "attributes", "a00=0 a01=1")
    function = lambda: 0
    function.mark = 5
    expect(function, "attributes", "mark=5")
    expect(threading, "has", "_active")


strings()
numbers()
reprs()
dicts()
attributes()
print("ready %d %d" % (len(OUT), 0))
print("\n".join(OUT))
sys.stdout.flush()
time.sleep(600)

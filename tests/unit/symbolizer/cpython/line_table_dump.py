"""Prints the line table of many code objects, and where the interpreter itself reports each code unit to be.

    code FIRST_LINE HEX_OF_TABLE
    END LINE END_LINE COLUMN END_COLUMN      code units up to byte END, 0 = no line, -1 = no column

argv: seconds to spend on the standard library, seed.
"""
import dis
import os
import random
import sys
import time
import types

BUDGET, SEED = float(sys.argv[1]), int(sys.argv[2])

SHAPES = '''
def multi_line_calls(f, g, h, x):
    return f(
        g(x,
          h(1),

          h(
              2)),
        key=h(
            3),
    )

def chained(a):
    return (a
            .b(1)
            .c(
                2).d
            [0]
            (3))

def comprehension(rows):
    return [
        cell
        for row
        in rows
        if row
        for cell in row
        if (cell and
            row)
    ], {
        k: v
        for k, v in rows
    }, (x
        for x in rows)

def withs(open):
    with open("a") as a, \\
            open("b") as b:
        with a:
            pass
    return b

def tries(f):
    try:
        f()
    except ValueError as e:
        raise KeyError(
            e) from e
    except (TypeError,
            OSError):
        return 1
    else:
        f()
    finally:
        f(
        )
    while f:
        try:
            continue
        finally:
            break

@tries
@multi_line_calls(
    1,
    2)
class Decorated(
        object,
        metaclass=type):
    """doc

    string"""
    a = [
        1,
        2]

    @staticmethod
    @property
    def method(self, a=(
            lambda: 3),
            *b, c=4, **d) -> (
                int):
        """doc"""
        def inner():
            nonlocal a
            yield (a,
                   b)
            x = yield from inner()
            return x
        return inner

async def coroutine(a):
    async with a as b:
        async for c in b:
            await a(
                await c)
    return [d async for d in a], (a
                                  if b
                                  else c)

def operators(a, b, c):
    x = (a +
         b *
         c -
         (a
          @ b))
    y = (a
         < b
         < c)
    z = f"{a}{b!r:>{c}}" "x" \\
        f"{a}"
    del x, \\
        y
    assert (a
            and b), (
        "message")
    a[
        b
    ] = c[
        1:
        2]
    global G
    G = x = y = z
    return not (
        a)

def empty(): pass
'''

MATCH = '''
def matches(a):
    match a:
        case [1,
              2]:
            return 1
        case {"k": v,
              **rest} if (
                  v):
            return rest
        case str(
                x=3) | None:
            pass
        case _:
            raise a
''' if sys.version_info >= (3, 10) else ""

# A replacement field may span lines from 3.12 on.
FIELDS = '''
def fields(a, b):
    return f"{a} {
        b(
            1)} {a
        if a else b}"
''' if sys.version_info >= (3, 12) else ""


def generated(rng):
    """Long functions with tables of many KiB, and jumps of lines that do not fit a byte, in both directions."""
    lines = ["def long(f, a):"]
    for i in range(700):
        lines += ["    a = f(a, " + "\n" * rng.choice([0, 0, 1, 3]) + "      " + " " * rng.choice([0, 5, 90, 200]) + "a + %d)" % i]
    yield "\n".join(lines)
    lines = ["def jumps(f, a):"]
    for i in range(40):
        lines += ["    f(a,", "\n" * rng.choice([1, 100, 127, 128, 129, 255, 300, 70000 if i == 7 else 2]), "      a(),", "    *a)"]
    yield "\n".join(lines)
    yield "def wide(a):\n  return (" + "a, " * 3000 + "\n a)"
    yield "\n" * 100000 + "def far(a):\n  return a()"


def units(code):
    """(end of the unit, line, end line, column, end column) of each code unit, as the interpreter itself reports."""
    size = len(code.co_code)
    if hasattr(code, "co_positions"):
        for i, (line, end_line, column, end_column) in enumerate(code.co_positions()):
            yield (2 * i + 2, line or 0, end_line or 0, -1 if column is None else column,
                   -1 if end_column is None else end_column)
    elif hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            for at in range(start, end, 2):
                yield at + 2, line or 0, line or 0, -1, -1
    else:
        starts = dict(dis.findlinestarts(code))
        line = code.co_firstlineno
        for at in range(0, size, 2):
            line = starts.get(at, line)
            yield at + 2, line, line, -1, -1


def dump(code, out):
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    out.append("code %d %s" % (code.co_firstlineno, table.hex() or "-"))
    runs = []
    for end, *position in units(code):
        if runs and runs[-1][1] == position:
            runs[-1][0] = end
        else:
            runs.append([end, position])
    out += ["%d %d %d %d %d" % (end, *position) for end, position in runs]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            dump(constant, out)


def main():
    rng = random.Random(SEED)
    sources = [("shapes", SHAPES), ("match", MATCH), ("fields", FIELDS)] + [("generated", text) for text in generated(rng)]
    for name, text in sources:
        out = []
        dump(compile(text, name, "exec"), out)
        print("\n".join(out))
    library = os.path.dirname(os.__file__)
    paths = sorted(os.path.join(d, f) for d, _, files in os.walk(library) for f in files
                   if f.endswith(".py") and "lib2to3" not in d and "bad" not in f)
    rng.shuffle(paths)
    end = time.monotonic() + BUDGET
    for path in paths:
        if time.monotonic() > end:
            break
        try:
            with open(path, encoding="utf-8") as f:
                code = compile(f.read(), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, UnicodeDecodeError, RecursionError):
            continue
        out = []
        dump(code, out)
        print("\n".join(out))


import warnings
warnings.simplefilter("ignore")
main()

"""A module whose line table is larger than 1 MiB waits near its end, and reports its line.

The interpreter itself gives the line: "line NUMBER SIZE", where SIZE is the bytes of the table.
"""
import sys

import pact

LINES = 400_000 if sys.version_info >= (3, 11) else 600_000  # entries of three bytes and more, or of two


def wait():
    frame = sys._getframe(1)
    table = frame.f_code.co_linetable if sys.version_info >= (3, 10) else frame.f_code.co_lnotab
    pact.say("line", frame.f_lineno, len(table))
    pact.say("ready")
    pact.hear()


source = "\n".join(["x = wait"] + ["x"] * LINES + ["(", "x()", ")"] + ["x"] * 10)
code = compile(source, "huge.py", "exec")
del source
exec(code, {"wait": wait})

"""The hand-written source files of a tree, for the checks beside this file."""
import pathlib
import re

LAYER_ROOTS = ("attach", "symbolizer", "daemon", "client", "rpc")
OTHER_ROOTS = ("tests", "bench")
SUFFIXES = (".h", ".cc", ".c", ".py", ".sh")
# Not counted: third-party files, generated ones, and tables (data in the form of code: *_table.*, *_tables.*).
_EXEMPT = re.compile(r"(^|/)(third_party|build|golden|corpus|__pycache__)/|_tables?\.(cc|h)$|\.pb\.")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<][^">]+[">])', re.MULTILINE)


def exempt(path):
    return bool(_EXEMPT.search(path))


def files(root, folders=LAYER_ROOTS + OTHER_ROOTS, suffixes=SUFFIXES):
    """Paths relative to `root`, in order."""
    root = pathlib.Path(root)
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            relative = path.relative_to(root).as_posix()
            if path.is_file() and path.suffix in suffixes and not exempt(relative):
                yield relative


def includes(text):
    """What a file includes, as written: '"attach/base/result.h"', '<vector>'."""
    return _INCLUDE.findall(text)

"""Which Python interpreters this machine can run targets on.

Source: the list that `./dev setup` writes (one `version<TAB>kind<TAB>root or -<TAB>path` a line); without it, pyenv's
and the system's. MINORS is the matrix that has to be covered. Missing interpreters are reported, never silently
skipped. The matrix comes from symbolizer/cpython/versions.txt, which is the only list of versions.
"""
import os
import pathlib
import re
import subprocess
from dataclasses import dataclass

VERSIONS = pathlib.Path(__file__).resolve().parents[2] / "symbolizer/cpython/versions.txt"
_ROWS = [line.split() for line in VERSIONS.read_text().splitlines() if line[:1].isdigit()]
MINORS = tuple(row[0] for row in _ROWS)
# Free-threaded builds, which `./dev setup free-threaded` makes. They are not in the matrix, and tested where they
# exist.
FREE_THREADED = tuple(f"{row[0]}t" for row in _ROWS if row[1] != "-")
CACHE = pathlib.Path(os.environ.get("PTRACE_PROF_CACHE", "/var/cache/ptrace-prof"))
# Where several interpreters of a minor exist, the cheapest to start comes first.
_KIND_ORDER = ("pyenv", "system", "built", "root")


def span(first, last=MINORS[-1]):
    """The minors from `first` to `last`, both included."""
    return MINORS[MINORS.index(first):MINORS.index(last) + 1]


# For long tests: 3.9 and 3.10 have nothing that is not in 3.8 or 3.11 too.
TELLING = tuple(minor for minor in MINORS if minor not in span("3.9", "3.10"))


@dataclass(frozen=True)
class Interpreter:
    version: str  # such as "3.11.7", or "3.14.4t" for a free-threaded build
    kind: str     # "pyenv", "system", "built", or "root": inside its own root file system, mount and PID namespace
    root: str     # "" unless kind == "root"
    path: str     # as seen inside the root

    @property
    def minor(self):
        """"3.11", or "3.14t" for a free-threaded build."""
        return ".".join(self.version.split(".")[:2]) + ("t" if self.is_free_threaded else "")

    @property
    def release(self):
        """"3.14", whatever the build."""
        return self.minor.rstrip("t")

    @property
    def is_free_threaded(self):
        return self.version.endswith("t")

    @property
    def in_root(self):
        return bool(self.root)

    @property
    def numbers(self):
        return tuple(int(part) for part in re.findall(r"\d+", self.version)[:3])

    def __str__(self):
        return f"{self.version} ({self.kind}{' ' + self.root if self.root else ''})"


def _listed():
    path = CACHE / "interpreters.txt"
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        version, kind, root, binary = line.split("\t")
        root = "" if root == "-" else root
        yield Interpreter(version, "root" if root else kind, root, binary)


def _version_of(binary):
    """In the form in which the list of `./dev setup` has them (PROBE in dev.d/roots.sh)."""
    script = ("import sys, sysconfig; print('%d.%d.%d' % sys.version_info[:3]"
              " + 'rc%d' % sys.version_info[4] * (sys.version_info[3] == 'candidate')"
              " + 't' * bool(sysconfig.get_config_var('Py_GIL_DISABLED')))")
    try:
        done = subprocess.run([binary, "-I", "-S", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _found():
    for binary in sorted(pathlib.Path("~/.pyenv/versions").expanduser().glob("*/bin/python3")):
        yield "pyenv", str(binary)
    for minor in FREE_THREADED:
        binary = CACHE / "free-threaded" / minor / "bin" / f"python{minor}"
        if binary.exists():
            yield "built", str(binary)
    for minor in MINORS:
        for folder in ("/usr/bin", "/usr/local/bin"):
            binary = pathlib.Path(folder, f"python{minor}")
            if binary.exists():
                yield "system", str(binary)


def discover(minors=MINORS):
    """Every interpreter of these minors, cheapest first within a minor."""
    found = {}
    for interpreter in _listed():
        if interpreter.in_root:
            usable = os.geteuid() == 0 and os.path.exists(interpreter.root + interpreter.path)
        else:
            usable = os.access(interpreter.path, os.X_OK)
        if usable:
            found.setdefault((interpreter.root, os.path.realpath(interpreter.root + interpreter.path)), interpreter)
    for kind, binary in _found():
        key = ("", os.path.realpath(binary))
        if key not in found:
            version = _version_of(binary)
            if version:
                found[key] = Interpreter(version, kind, "", binary)
    matrix = [one for one in found.values() if one.minor in minors]
    return sorted(matrix, key=lambda one: (one.numbers[:2], _rank(one), one.numbers, one.path))


def _rank(interpreter):
    return _KIND_ORDER.index(interpreter.kind) if interpreter.kind in _KIND_ORDER else len(_KIND_ORDER)


def of_minor(minor):
    return discover((minor,))


def missing():
    """The minors of the matrix for which there is no interpreter here."""
    present = {one.minor for one in discover()}
    return [minor for minor in MINORS if minor not in present]

"""Which Python interpreters this machine can run targets on.

Source: the list that `./dev setup` writes (one `version<TAB>kind<TAB>root or -<TAB>path` a line); without it, pyenv's
and the system's. MINORS is the matrix that has to be covered: what cannot be had is named, never silently skipped.
"""
import os
import pathlib
import re
import subprocess
from dataclasses import dataclass

MINORS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
CACHE = pathlib.Path(os.environ.get("PTRACE_PROF_CACHE", "/var/cache/ptrace-prof"))
# Where several interpreters of a minor exist, the cheapest to start comes first.
_KIND_ORDER = ("pyenv", "system", "root")


@dataclass(frozen=True)
class Interpreter:
    version: str  # "3.11.7"
    kind: str     # "pyenv", "system", or "root": inside its own root file system, mount and PID namespace
    root: str     # "" unless kind == "root"
    path: str     # as seen inside the root

    @property
    def minor(self):
        return ".".join(self.version.split(".")[:2])

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
    script = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    try:
        done = subprocess.run([binary, "-I", "-S", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _found():
    for binary in sorted(pathlib.Path("~/.pyenv/versions").expanduser().glob("*/bin/python3")):
        yield "pyenv", str(binary)
    for minor in MINORS:
        for folder in ("/usr/bin", "/usr/local/bin"):
            binary = pathlib.Path(folder, f"python{minor}")
            if binary.exists():
                yield "system", str(binary)


def discover():
    """Every interpreter of the matrix, cheapest first within a minor."""
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
    matrix = [one for one in found.values() if one.minor in MINORS]
    return sorted(matrix, key=lambda one: (one.numbers[:2], _rank(one), one.numbers, one.path))


def _rank(interpreter):
    return _KIND_ORDER.index(interpreter.kind) if interpreter.kind in _KIND_ORDER else len(_KIND_ORDER)


def of_minor(minor):
    return [one for one in discover() if one.minor == minor]


def missing():
    """The minors of the matrix for which there is no interpreter here."""
    present = {one.minor for one in discover()}
    return [minor for minor in MINORS if minor not in present]

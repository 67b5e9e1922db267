#!/usr/bin/env python3
"""Only symbolizer/cpython knows versions of CPython by their numbers, and its versions.txt is the only list of them.

Code elsewhere asks version_table.h what a version can do. It uses neither the parts of a version nor a PY_VERSION_HEX.
No other file lists the versions, or states their range. Pages that report measurements may name the measured versions.
"""
import pathlib
import re
import sys

import sources

HOME = "symbolizer/cpython/"
LIST = HOME + "versions.txt"
ROW = re.compile(r"3\.\d+ +(-|3\.\d+\S+) +(yes|no) +(pyenv|[a-z]+( [a-z]+)*)")
CLIENT = "client/python/pyproject.toml"

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
NUMBERS = (
    (re.compile(r"\b(?:\w+_)?version(?:\(\))?_?\s*(?:\.|->)\s*(?:major|minor|micro|release_level|serial)\b"), "a part of a version"),
    (re.compile(r"\b(?:f|F)acts\w*(?:\([^()]*\))?\s*(?:\.|->)\s*minor\b|\bVersionFacts::minor\b|\bPythonVersion::\w+"), "a part of a version"),
    (re.compile(r"\bPythonVersion\s*[{(]\s*\d"), "a version made up"),
    (re.compile(r"\bversion_?\s*(?:<=?|>=?|[=!]=)\s*(?:PythonVersion\b|\{)"), "a comparison of versions"),
    (re.compile(r"\bhexversion\b|\bversion_info\b|\bPY_VERSION_HEX\b|\bpython_hex\b|\b0x030[0-9a-fA-F]{5}\b"), "a PY_VERSION_HEX"),
)

ROOTS = sources.LAYER_ROOTS + sources.OTHER_ROOTS + ("dev.d", "cmake", "packaging", "docs", ".ci", ".github")
TEXTS = (".h", ".cc", ".c", ".py", ".sh", ".cmake", ".txt", ".md", ".toml", ".proto", ".yml", ".yaml", "")
TOLD = ("CHANGELOG.md", "docs/benchmarks.md", "docs/truth.md", "docs/fidelity.md")  # measurements, or history
BUILT = re.compile(r"(^|/)(build|node_modules|__pycache__|third_party|golden|corpus|transcripts)/")
AT_LEAST = 5  # so many in a row are a list of all versions, and not a selection
IN_A_ROW = re.compile(r"(?<![\d.])3\.\d+t?\b(?:[\"'`]?[\s,;|/\\]+(?:and |or )?[\"'`]?3\.\d+t?\b(?!\.\d)){%d,}" % (AT_LEAST - 1))
NUMBERS_IN_A_ROW = re.compile(r"\{8, ?9, ?10, ?11, ?12\b")
RANGE = re.compile(r"(?<![\d.])(3\.\d+) ?(?:to|–|-|\.\.|…) ?(3\.\d+)\b(?!\.\d)|\(3, ?(\d+)\) <= .{1,40} <= \(3, ?(\d+)\)")


def parse_list(text):
    """([version, for the Python client or not], faults)"""
    versions, faults = [], []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            if not ROW.fullmatch(line):
                faults.append(f"{LIST}: cannot read the line '{line}'")
                continue
            versions.append((line.split()[0], line.split()[2] == "yes"))
    minors = [int(version.split(".")[1]) for version, _ in versions]
    if not minors or minors != list(range(minors[0], minors[0] + len(minors))):
        faults.append(f"{LIST}: its versions do not follow one another")
    return versions, faults


def numbers_of_versions(root):
    for path in sources.files(root, sources.LAYER_ROOTS, (".h", ".cc", ".c")):
        if path.startswith(HOME):
            continue
        code = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), (root / path).read_text(encoding="utf-8"))
        for pattern, what in NUMBERS:
            for found in pattern.finditer(code):
                line = code.count("\n", 0, found.start()) + 1
                yield f"{path}:{line}: {what}, '{found[0].strip()}'; ask {HOME}version_table.h what the version can do"


def texts(root):
    for folder in ROOTS:
        for path in sorted((root / folder).rglob("*")):
            relative = path.relative_to(root).as_posix()
            if path.suffix in TEXTS and path.is_file() and not path.is_symlink() and not BUILT.search(relative):
                yield relative
    yield from (path.name for path in sorted(root.glob("*")) if path.is_file() and path.suffix in TEXTS)


def second_lists(root, ends):
    for path in texts(root):
        if path in (LIST, "tests/lint/test_lint.py", *TOLD):
            continue
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a program
        found = [*IN_A_ROW.finditer(text), *NUMBERS_IN_A_ROW.finditer(text)]
        found += [one for one in RANGE.finditer(text)
                  if (one[1] or f"3.{one[3]}", one[2] or f"3.{one[4]}") in ends]
        for one in found:
            line = text.count("\n", 0, one.start()) + 1
            yield f"{path}:{line}: a second list of versions, '{' '.join(one[0].split())}'; the only one is {LIST}"


def check(root):
    root = pathlib.Path(root)
    versions, faults = parse_list((root / LIST).read_text(encoding="utf-8"))
    if not faults:
        every, clients = [one for one, _ in versions], [one for one, is_client in versions if is_client]
        ends = {(those[0], those[-1]) for those in (every, clients) if those}
        faults += second_lists(root, ends)
        package = root / CLIENT
        if package.exists() and f'requires-python = ">={clients[0]}"' not in package.read_text():
            faults.append(f"{CLIENT}: requires-python is not {clients[0]}, the client's first version in {LIST}")
    return faults + list(numbers_of_versions(root))


def main():
    faults = check(pathlib.Path(__file__).resolve().parents[2])
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

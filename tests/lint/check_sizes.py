#!/usr/bin/env python3
"""Files and functions stay small: median ≤ 100 lines, 90th percentile ≤ 400, no file over 600, no function over 60. The
folder with privileges has less than 1,800 lines.

Functions of C and C++ are measured from their name to the brace that closes them, by universal-ctags where it is
installed (`end` fields); Python's by its own parser. Tables, third-party and generated files are exempt (sources.py).
"""
import ast
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

import sources

MEDIAN, NINETIETH, LONGEST, FUNCTION = 100, 400, 600, 60
FOLDERS = {"daemon/launcher": 1800}  # privileged code is small enough to be read whole, including its stops for others


def line_counts(root, paths):
    return {path: len((root / path).read_bytes().splitlines()) for path in paths}


def percentile(values, fraction):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))] if ordered else 0


def cxx_functions(root, paths):
    """(path, name, lines) of every function, or None without universal-ctags."""
    ctags = shutil.which("ctags-universal") or shutil.which("ctags")
    paths = [path for path in paths if path.endswith((".h", ".cc", ".c"))]
    if not ctags or not paths:
        return [] if not paths else None
    done = subprocess.run(
        [ctags, "--output-format=json", "--fields=+ne", "--kinds-C=f", "--kinds-C++=f", "--languages=C,C++",
         "--langmap=C++:.cc.h", "-f", "-", "-L", "-"],
        input="\n".join(paths), capture_output=True, text=True, cwd=root)
    if done.returncode != 0:
        return None
    found = []
    for line in done.stdout.splitlines():
        tag = json.loads(line)
        if "end" in tag and "line" in tag:
            found.append((tag["path"], tag["name"], tag["end"] - tag["line"] + 1))
    return found


def python_functions(root, paths):
    for path in paths:
        if path.endswith(".py"):
            for node in ast.walk(ast.parse((root / path).read_text())):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield path, node.name, node.end_lineno - node.lineno + 1


def measure(root):
    """(violations, figures as one printable text)"""
    root = pathlib.Path(root)
    paths = list(sources.files(root))
    counts = line_counts(root, paths)
    if not counts:
        return ["no source files found"], ""
    median, ninetieth = statistics.median(counts.values()), percentile(counts.values(), 0.9)
    longest = max(counts, key=counts.get)
    found = [f"{path}: {lines} lines, more than {LONGEST}" for path, lines in counts.items() if lines > LONGEST]
    if median > MEDIAN:
        found.append(f"the median file has {median:g} lines, more than {MEDIAN}")
    if ninetieth > NINETIETH:
        found.append(f"the 90th percentile of files has {ninetieth} lines, more than {NINETIETH}")
    cxx = cxx_functions(root, paths)
    functions = list(cxx or []) + list(python_functions(root, paths))
    long_functions = [one for one in functions if one[2] > FUNCTION]
    found += [f"{path}: {name} has {lines} lines, more than {FUNCTION}" for path, name, lines in long_functions]
    found += [f"{folder}: {lines} lines, more than {most}" for folder, most in FOLDERS.items()
              if (lines := sum(count for path, count in counts.items() if path.startswith(folder + "/"))) >= most]
    unmeasured = "" if cxx is not None else " (C++ functions not measured: universal-ctags is not installed)"
    figures = (f"sizes: {len(counts)} files, {sum(counts.values())} lines; median {median:g}, "
               f"90th percentile {ninetieth}, longest {counts[longest]} ({longest}); "
               f"{len(functions)} functions, {len(long_functions)} over {FUNCTION} lines{unmeasured}")
    return found, figures


def main(root):
    found, figures = measure(root)
    for line in found:
        print(line)
    print(figures)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]))

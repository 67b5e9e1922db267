#!/usr/bin/env python3
"""Plain words: the sentences that CONTRIBUTING.md forbids, in Markdown and in the comments of the code.

Markdown has none of them, and no line over 120 characters. Tables, images, lines with a URL and fenced code (quoted output) may
be longer. Code may have as many per top folder as CEILINGS says: that number may only fall.
"""
import io
import os
import pathlib
import re
import sys
import tokenize

import sources

WIDTH = 120
# How many sentences of the code still have to be rewritten. Lower a number when the check asks for it; never raise one.
CEILINGS = {"attach": 0, "bench": 0, "client": 0, "daemon": 0, "rpc": 0, "symbolizer": 0, "tests": 0}

START = r"(?:^|(?<=[.!?:;] )|(?<=[-*|(] ))"  # of a sentence, a list item or a cell
THINGS = "has|have|waits|asks|reads|renews|takes|holds|wants|needs|knows|traces|drains|loses|looks|sleeps|listens|accounts|uses"
PATTERNS = (
    (re.compile(START + r"Of (?!course\b)"), 'a sentence begins with "Of": put the subject first'),
    (re.compile(START + r"Who (?=[^.?!]*(?:[.!]|$))"), 'a statement begins with "Who": name the thing or the person'),
    (re.compile(r"\bwhoever\b", re.IGNORECASE), '"whoever": name the thing, or say "anyone who"'),
    (re.compile(rf"\bnobody (?:else )?(?:{THINGS})\b", re.IGNORECASE), '"nobody": say "no thread", "no process", "nothing"'),
    (re.compile(r"\b(?:is|are|was|were|be|been) told\b(?! apart)|\btells? of\b", re.IGNORECASE),
     '"told": say "reported", "shown" or "counted"'),
)

SOURCES = {".h": "//", ".cc": "//", ".c": "//", ".proto": "//", ".py": "#", ".sh": "#"}
OTHERS = re.compile(r"\..*|third_party|build.*|node_modules|shared")  # folders
QUOTED = re.compile(r'`[^`]*`|"[^"]*"')
LINE_COMMENT = {"//": re.compile(r'^(?:[^"]|"(?:[^"\\]|\\.)*")*?//+<? ?(.*)$'), "#": re.compile(r"^\s*# ?(?!!)(.*)$")}
BLOCK_START = re.compile(r"\s*(?:[-*+] |\d+\. |>|\||#)")


def joined(numbered):
    """[(number of the first line, text)]: lines that follow one another are one text, as a sentence may span them."""
    found, last = [], None
    for number, text, is_new in numbered:
        if found and not is_new and number == last + 1:
            found[-1][1].append(text)
        else:
            found.append((number, [text]))
        last = number
    return found


def faults_of(texts):
    """(line, what) of each pattern's hits."""
    for first, lines in texts:
        text = QUOTED.sub(lambda one: "x" * len(one[0]), " ".join(line.strip() for line in lines))
        ends, end = [], 0
        for line in lines:
            end += len(line.strip()) + 1
            ends.append(end)
        for pattern, what in PATTERNS:
            for hit in pattern.finditer(text):
                yield first + sum(end <= hit.start() for end in ends), what


def prose(text):
    """(number, line, whether a block begins with it) of each line of Markdown outside of fences."""
    in_fence, was_empty = False, True
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
        elif not in_fence:
            yield number, line, was_empty or bool(BLOCK_START.match(line))
        was_empty = not line.strip()


def faults_of_markdown(text):
    lines = list(prose(text))
    for number, line, _ in lines:
        if len(line) > WIDTH and not line.lstrip().startswith(("|", "![")) and "://" not in line:
            yield number, f"{len(line)} characters, more than {WIDTH}"
    yield from faults_of(joined([one for one in lines if one[1].strip() and not one[1].startswith("#")]))


def strings_of_python(text):
    """(number, line, True) of docstrings: strings that are statements."""
    previous = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and previous in (None, tokenize.INDENT, tokenize.NEWLINE, tokenize.NL, tokenize.DEDENT):
            for offset, line in enumerate(token.string.strip("rbuf\"'").splitlines()):
                yield token.start[0] + offset, line, offset == 0
        if token.type != tokenize.COMMENT:
            previous = token.type


def comments(path, text):
    pattern = LINE_COMMENT[SOURCES[path.suffix]]
    for number, line in enumerate(text.splitlines(), 1):
        found = pattern.match(line)
        if found and found[1].strip():
            yield number, found[1], bool(BLOCK_START.match(found[1]))
    if path.suffix == ".py":
        yield from strings_of_python(text)


def files(root, suffixes):
    """(path, path relative to `root`) of our files, in order."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not OTHERS.fullmatch(name))
        for path in (pathlib.Path(folder) / name for name in sorted(names)):
            relative = path.relative_to(root).as_posix()
            if path.suffix in suffixes and not path.is_symlink() and not sources.exempt(relative):
                yield path, relative


def check(root, ceilings):
    """(faults, {top folder: [hits]}) of a tree."""
    faults = [f"{relative}:{number}: {what}" for path, relative in files(root, {".md"})
              for number, what in faults_of_markdown(path.read_text(encoding="utf-8"))]
    hits = {folder: [] for folder in ceilings}
    for path, relative in files(root, SOURCES):
        if path.name not in ("check_words.py", "test_lint.py"):
            found = faults_of(joined(list(comments(path, path.read_text(encoding="utf-8")))))
            hits.setdefault(relative.split("/")[0], []).extend(f"{relative}:{number}: {what}" for number, what in found)
    for folder, found in sorted(hits.items()):
        ceiling = ceilings.get(folder, 0)
        if len(found) > ceiling:
            faults += [*found, f"{folder}: {len(found)} such comments, more than the {ceiling} in CEILINGS: rewrite the new ones"]
        elif len(found) < ceiling:
            faults.append(f"{folder}: {len(found)} such comments, fewer than {ceiling}: lower its number in CEILINGS")
    return faults, hits


def main():
    faults, hits = check(pathlib.Path(__file__).resolve().parents[2], CEILINGS)
    for fault in faults:
        print(fault)
    if "--count" in sys.argv:
        print({folder: len(found) for folder, found in sorted(hits.items()) if found})
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

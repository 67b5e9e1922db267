#!/usr/bin/env python3
"""The words for reasons of failures: whatever repeats the table of attach/base/reason.cc must agree with it.

The table itself is the reference. docs/api.md and the comment of capture_service.proto name every word, the latter with
its code; every word has its exception in the Python client; and no other C++ file of ours contains one.
"""
import pathlib
import re
import sys

import sources

ROW = re.compile(r'\{Reason::k(\w+), "([A-Z_]+)", Code::k(\w+)\}')
TABLE = "attach/base/reason.cc"
OF_THE_CLIENT = {"PROGRAM_NOT_FOUND", "EXPORT_FAILED"}  # made by the Python client itself


def code_name(enumerator):
    return {"Gone": "ABORTED"}.get(enumerator, re.sub(r"(?<!^)(?=[A-Z])", "_", enumerator).upper())


def parse_table(text):
    """{word: name of its code}"""
    return {word: code_name(code) for _, word, code in ROW.findall(text)}


def parse_proto(text):
    """{word: name of its code} of the first comment's table."""
    found, code = {}, None
    for line in text.splitlines():
        row = re.match(r"//   ([A-Z_]+)?\s+((?:[A-Z_]+,? ?)+)$", line)
        if row:
            code = row[1] or code
            found.update(dict.fromkeys(re.findall(r"[A-Z_]+", row[2]), code))
    return found


def parse_document(text):
    """The words of the second column of the table of errors."""
    section = text.split("\n## Errors\n", 1)[-1].split("\n## ", 1)[0]
    cells = [line.split("|")[2] for line in section.splitlines() if line.startswith("|")]
    return set(re.findall(r"`([A-Z_]+)`", " ".join(cells)))


def parse_exceptions(text):
    text = text.split('"""', 2)[-1]
    named = re.findall(r'^    (?:code, )?reason = (?:"[A-Z_]+", )?"([A-Z_]+)"', text, re.MULTILINE)
    also = " ".join(re.findall(r"^    also.*?= \((.*?)\)", text, re.MULTILINE | re.DOTALL))
    return set(named) | set(re.findall(r'"([A-Z_]+)"', also))


def differences(where, there, table):
    return ([f"{where}: {word} is missing" for word in sorted(table - there)] +
            [f"{where}: {word} is not in {TABLE}" for word in sorted(there - table)])


def strays(root, table):
    """Words in the code, except those that are also names of codes."""
    words = set(table) - set(table.values())
    for path in sources.files(root, sources.LAYER_ROOTS, (".h", ".cc")):
        if path != TABLE:
            text = re.sub(r"//.*", "", (root / path).read_text(encoding="utf-8"))
            for word in sorted(words & set(re.findall(r'"([A-Z_]+)"', text))):
                yield f"{path}: {word} is spelled out; take it from {TABLE}"


def check(root):
    def read(path):
        return (root / path).read_text(encoding="utf-8")

    table = parse_table(read(TABLE))
    proto = parse_proto(read("rpc/proto/ptraceprof/v1/capture_service.proto"))
    faults = differences("the comment in capture_service.proto", set(proto), set(table))
    faults += [f"the comment in capture_service.proto: {word} has the code {table[word]}, not {proto[word]}"
               for word in sorted(set(table) & set(proto)) if table[word] != proto[word]]
    faults += differences("docs/api.md", parse_document(read("docs/api.md")), set(table))
    faults += differences("client/python errors.py",
                          parse_exceptions(read("client/python/src/ptrace_prof/errors.py")) - OF_THE_CLIENT, set(table))
    faults += strays(root, table)
    if not table:
        faults.append(f"{TABLE}: no table was found")
    return faults


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    faults = check(root)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""ptrace-prof-policy(5) out of the example of a policy: usage: policy_manual.py EXAMPLE VERSION

A paragraph of the example's comments becomes one of the page; comments that are indented keep their form, and so does
what is no comment.
"""
import itertools
import pathlib
import sys

HEAD = """\
.TH PTRACE\\-PROF\\-POLICY 5 2026-11-22 "ptrace-prof {version}"
.SH NAME
ptrace\\-prof\\-policy \\- who may profile what through ptrace\\-profd
.SH SYNOPSIS
.I /etc/ptrace\\-prof/policy.toml
.SH DESCRIPTION
.B ptrace\\-profd
lets every user profile what the kernel lets that user read.
An administrator narrows that (and may waive Yama) with a file of TOML, which
.B \\-\\-policy
names; what follows is the example that comes with it, with its explanations.
What is in the file is checked as a whole: where it is wrong, the daemon does not start, and one that runs keeps the rules that it has.
"""
TAIL = """\
.SH SEE ALSO
ptrace\\-profd(8), ptrace\\-prof(1)
"""


def plain(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def kind(line):
    if not line.strip():
        return "gap"
    if line[:1] == "#" and line[1:2] not in ("", " "):
        return "code"  # what is not in force
    if line.startswith("#"):
        return "form" if line.startswith("#   ") else "text" if line[1:].strip() else "gap"
    return "code"


def page(example, version):
    parts, was_code = [HEAD.format(version=version)], False
    for sort, lines in itertools.groupby(example.splitlines(), kind):
        lines = list(lines)
        if sort == "code" and was_code:
            parts.append(".sp\n")
        was_code = sort == "code" or was_code and sort == "gap"
        if sort == "text":
            parts.append(".PP\n" + "".join(plain(line[1:].strip()) + "\n" for line in lines))
        elif sort != "gap":
            texts = [line[1:] if sort == "form" else line for line in lines]
            parts.append(".RS 4\n.EX\n" + "".join(plain(text) + "\n" for text in texts) + ".EE\n.RE\n")
    return "".join(parts) + TAIL


if __name__ == "__main__":
    print(page(pathlib.Path(sys.argv[1]).read_text(), sys.argv[2]), end="")

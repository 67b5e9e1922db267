"""Runs the program `ptrace-prof`, which knows every output format."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Optional

from ._failure import failure


def find() -> str:
    """Returns the path of PTRACE_PROF_BIN, else of `ptrace-prof` in PATH. Raises ProgramNotFound."""
    chosen = os.environ.get("PTRACE_PROF_BIN")
    found = shutil.which(chosen or "ptrace-prof")
    if found is None:
        where = f"PTRACE_PROF_BIN={chosen} cannot be run" if chosen else "ptrace-prof is not in PATH"
        raise failure("PROGRAM_NOT_FOUND", f"exporting a trace needs the program ptrace-prof: {where}",
                      remedy="install ptrace-prof, or set PTRACE_PROF_BIN to its path; "
                             "Trace.save() and Trace.table() work without it")
    return os.path.abspath(found)


def export(trace: bytes, path: str, format: Optional[str]) -> None:  # noqa: A002 - the name of the option
    """Converts `trace` and writes it to `path`. Raises ProgramNotFound, ExportFailed."""
    _run(trace, "export", "-", "-o", path, *(("--format", format) if format else ()))


def table(trace: bytes, *options: str) -> str:
    """Returns what `ptrace-prof table` prints. Raises ProgramNotFound, ExportFailed."""
    return _run(trace, "table", "-", *options)


def kineto(trace: bytes) -> list[dict[str, Any]]:
    """Returns the events of the JSON of PyTorch's profiler. Raises ProgramNotFound, ExportFailed."""
    text = _run(trace, "export", "-", "-o", "-", "--format", "chrome")
    events: list[dict[str, Any]] = json.loads(text)["traceEvents"]
    return events


def _run(trace: bytes, *words: str) -> str:
    arguments = [find(), *words]
    # With close_fds Python calls fork() itself, which gRPC's handlers may abort; descriptors close on exec anyway.
    done = subprocess.run(arguments, input=trace, capture_output=True, check=False, close_fds=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise failure("EXPORT_FAILED",
                      said or f"`{' '.join(arguments)}` ended with status {done.returncode} and printed no message")
    return done.stdout.decode("utf-8")

"""A trace in a notebook: the interactive report in an iframe, or a table where the program `ptrace-prof` is missing."""
from __future__ import annotations

import html
import os
import tempfile

from . import _program
from ._table import Row

_FRAME = ('<iframe srcdoc="{page}" title="flame graph" sandbox="allow-scripts allow-downloads" '
          'style="width:100%;height:{height}px;border:1px solid #ccc"></iframe>')


def report(trace: bytes, height: int = 620) -> str:
    """Returns HTML that loads nothing from elsewhere. Raises ProgramNotFound, ExportFailed."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.html")
        _program.export(trace, path, "html")
        with open(path, encoding="utf-8") as file:
            return _FRAME.format(page=html.escape(file.read(), quote=True), height=height)


def table(rows: list[Row], caption: str, note: str) -> str:
    lines = "".join(
        f"<tr><td>{100 * row.self_share:.1f} %</td><td>{100 * row.total_share:.1f} %</td>"
        f"<td style='text-align:left'>{html.escape(row.function)}</td>"
        f"<td style='text-align:left'>{html.escape(row.file)}:{row.line}</td></tr>" for row in rows)
    if not lines:
        lines = "<tr><td colspan='4'>no samples and no calls</td></tr>"
    return (f"<table><caption>{html.escape(caption)}</caption><tr><th>self</th><th>total</th><th>function</th>"
            f"<th>file</th></tr>{lines}</table><p><small>{html.escape(note)}</small></p>")

"""A trace in a notebook: the interactive report in a frame of its own, or a table where the program is not there."""
from __future__ import annotations

import html
import os
import tempfile
from typing import TYPE_CHECKING

from . import _program
from .errors import ExportFailed, ProgramNotFound

if TYPE_CHECKING:
    from .trace import Trace

_FRAME = ('<iframe srcdoc="{page}" title="flame graph" sandbox="allow-scripts allow-downloads" '
          'style="width:100%;height:{height}px;border:1px solid #ccc"></iframe>')


def report(trace: Trace, height: int = 620) -> str:
    """HTML that needs nothing from anywhere else."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.html")
        try:
            _program.export(trace.data, path, "html")
            with open(path, encoding="utf-8") as file:
                return _FRAME.format(page=html.escape(file.read(), quote=True), height=height)
        except (ProgramNotFound, ExportFailed) as error:
            return table(trace, str(error))


def table(trace: Trace, note: str) -> str:
    rows = "".join(
        f"<tr><td>{100 * row.self_share:.1f} %</td><td>{100 * row.total_share:.1f} %</td>"
        f"<td style='text-align:left'>{html.escape(row.function)}</td>"
        f"<td style='text-align:left'>{html.escape(row.file)}:{row.line}</td></tr>" for row in trace.table(limit=30))
    if not rows:
        rows = "<tr><td colspan='4'>no samples and no calls</td></tr>"
    return (f"<table><caption>{html.escape(repr(trace))}</caption><tr><th>self</th><th>total</th><th>function</th>"
            f"<th>file</th></tr>{rows}</table><p><small>{html.escape(note)}</small></p>")

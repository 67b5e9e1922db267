"""Rows of a table: in how many samples a function was the leaf, and in how many anywhere; or what its calls took."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Optional

Place = tuple[str, str, int]  # function, file, line


@dataclass(frozen=True)
class Row:
    """One function (or one line of one). Shares are of all samples, also of those without a Python frame.

    Of a trace of calls (mode "trace") there are no samples: shares are of time, and the fields from `calls` on are set.
    """

    function: str
    file: str
    line: int            #: where the function begins; with by="line", the line that was executed; 0: not known
    self_samples: int    #: it was what ran
    total_samples: int   #: it was somewhere on the stack, counted once however often it recurs
    self_share: float    #: 0 to 1
    total_share: float   #: 0 to 1
    calls: Optional[int] = None         #: begun while it was traced
    self_time: Optional[float] = None   #: seconds in itself; without what the tracer cost, where that was measured
    total_time: Optional[float] = None  #: seconds with all that it called; a moment counts once however often it recurs
    raw_self_time: Optional[float] = None   #: as measured, with what the tracer cost
    raw_total_time: Optional[float] = None  #: the same


def check_by(by: str) -> None:
    if by not in ("function", "line"):
        raise ValueError(f"by={by!r}: it is 'function' or 'line'")


def rows_of(stacks: Iterable[tuple[Sequence[Place], int]], limit: Optional[int]) -> list[Row]:
    """`stacks`: places, innermost first, and how often each was seen. Most self samples first; limit None: all rows."""
    counts: dict[Place, list[int]] = {}
    samples = 0
    for places, count in stacks:
        samples += count
        for place in dict.fromkeys(places):
            counts.setdefault(place, [0, 0])[1] += count
        if places:
            counts[places[0]][0] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))
    all_of_them = max(samples, 1)
    return [Row(*place, own, total, own / all_of_them, total / all_of_them) for place, (own, total) in ordered[:limit]]

"""Rows of a table: the samples in which a function is the leaf or anywhere on the stack; or the time of its calls."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Optional

Place = tuple[str, str, int]  # function, file, line


@dataclass(frozen=True)
class Row:
    """One function, or one of its lines. A share counts all samples, also those without a Python frame.

    A trace of calls (mode "trace") has no samples: shares are shares of time, and the fields from `calls` on are set.
    """

    function: str
    file: str
    line: int            #: the first line of the function; with by="line", the line that was executed; 0: unknown
    self_samples: int    #: samples in which it was the innermost frame
    total_samples: int   #: samples in which it was on the stack; recursion counts once
    self_share: float    #: 0 to 1
    total_share: float   #: 0 to 1
    calls: Optional[int] = None         #: calls that began while it was traced
    self_time: Optional[float] = None   #: seconds, without callees; without the tracer's cost, where that was measured
    total_time: Optional[float] = None  #: seconds, with callees; recursion counts once
    raw_self_time: Optional[float] = None   #: self_time as measured, with the tracer's cost
    raw_total_time: Optional[float] = None  #: total_time as measured, with the tracer's cost


def check_by(by: str) -> None:
    if by not in ("function", "line"):
        raise ValueError(f"by={by!r}: must be 'function' or 'line'")


def rows_of(stacks: Iterable[tuple[Sequence[Place], int]], limit: Optional[int]) -> list[Row]:
    """Returns the rows with the most self samples first.

    stacks: places, innermost first, and the number of samples. limit: rows at most; None: all.
    """
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

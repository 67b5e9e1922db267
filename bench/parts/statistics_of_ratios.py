"""Medians of ratios, and their confidence intervals."""
import math
import statistics


def median(values):
    return statistics.median(values) if values else math.nan


def interval(values, confidence=0.95):
    """(low, high) of the median, by order statistics, without assuming a distribution. NaN for too few values."""
    ordered, count = sorted(values), len(values)
    best = None
    for rank in range(count // 2):
        inside = sum(math.comb(count, k) for k in range(rank + 1, count - rank)) / 2 ** count
        if inside >= confidence:
            best = (ordered[rank], ordered[count - 1 - rank])
    return best or (math.nan, math.nan)

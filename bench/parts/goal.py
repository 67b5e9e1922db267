"""One promise about cost, and its verdict."""
import math
from dataclasses import dataclass


@dataclass
class Goal:
    what: str
    bound: str
    measured: str
    verdict: str  # met, missed, no claim


def judged(what, bound, measured, met, text):
    """`measured`: None or NaN if it was not measured; `text`: the result in words."""
    missing = measured is None or isinstance(measured, float) and math.isnan(measured)
    return Goal(what, bound, "not measured" if missing else text, "no claim" if missing else ("met" if met else "missed"))

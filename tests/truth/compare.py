"""What two samplers saw of one program, in alternating slots: shares of each function with their standard errors, a
verdict.

A function is (name, file, first line). Its self share counts samples in which it is innermost, its inclusive share
those in which it is anywhere. Errors come from the spread of the differences between neighbouring slots, or from the
counts if that spread happens to be smaller than counting alone explains.
"""
import collections
import math
import statistics
from dataclasses import dataclass, field

from support.stacks import is_truncated

ALLOWED, ERRORS, SMALLEST, CUT = 0.01, 3, 0.01, 0.005
CUT_MARKS = ("[truncated", "[torn")


@dataclass
class Seen:
    """One slot of one sampler."""
    own: collections.Counter = field(default_factory=collections.Counter)
    inclusive: collections.Counter = field(default_factory=collections.Counter)
    samples: int = 0
    cut: int = 0

    @classmethod
    def of(cls, stacks, key=lambda frame: frame):
        seen = cls()
        for stack, times in stacks.items():
            functions = [key(frame) for frame in stack if frame.file and not frame.is_marker]
            cut = is_truncated(stack) or any(frame.name.startswith(CUT_MARKS) for frame in stack)
            if not functions and not cut:
                continue  # a thread without Python
            seen.samples += times
            seen.cut += times if cut else 0
            if functions and not (cut and stack[-1].is_marker):
                seen.own[functions[-1]] += times
            for function in set(functions):
                seen.inclusive[function] += times
        return seen


def share(seen, kind, function):
    return getattr(seen, kind)[function] / seen.samples if seen.samples else 0.0


def total(slots):
    seen = Seen()
    for slot in slots:
        seen.own += slot.own
        seen.inclusive += slot.inclusive
        seen.samples += slot.samples
        seen.cut += slot.cut
    return seen


def quantile(freedom):
    """The quantile for ERRORS standard errors that are estimated from so few rounds: Student's (Cornish and Fisher)."""
    z, v = ERRORS, max(1, freedom)
    return z + (z**3 + z) / (4 * v) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2) + (
        3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)


@dataclass(frozen=True)
class Difference:
    function: tuple
    kind: str          # "own" or "inclusive"
    ours: float        # shares
    theirs: float
    error: float       # standard error of the difference
    rounds: int  # of which it was computed

    @property
    def value(self):
        return self.ours - self.theirs

    def holds(self, allowed=ALLOWED):
        return abs(self.value) <= self.limit(allowed)

    def limit(self, allowed=ALLOWED):
        return allowed + quantile(self.rounds - 1) * self.error

    def __str__(self):
        name = self.function[0] if isinstance(self.function, tuple) else getattr(self.function, "name", self.function)
        return (f"{name} {'self' if self.kind == 'own' else 'incl.'} {100 * self.ours:.2f} vs {100 * self.theirs:.2f} "
                f"({100 * self.value:+.2f} ± {100 * self.error:.2f})")


def _error(differences, variance_of_counts):
    spread = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return max(spread, math.sqrt(variance_of_counts))


def against(ours, theirs, smallest=SMALLEST):
    """Differences for all functions that have one per cent or more on either side. Takes two lists of Seen, by rounds.
    """
    all_ours, all_theirs = total(ours), total(theirs)
    found = []
    for kind in ("own", "inclusive"):
        for function in set(getattr(all_ours, kind)) | set(getattr(all_theirs, kind)):
            one, other = share(all_ours, kind, function), share(all_theirs, kind, function)
            if max(one, other) < smallest:
                continue
            pooled = (getattr(all_ours, kind)[function] + getattr(all_theirs, kind)[function] + 1) / (
                all_ours.samples + all_theirs.samples + 2)
            counts = pooled * (1 - pooled) * (1 / max(1, all_ours.samples) + 1 / max(1, all_theirs.samples))
            differences = [share(mine, kind, function) - share(its, kind, function) for mine, its in zip(ours, theirs)]
            found.append(Difference(function, kind, one, other, _error(differences, counts), len(differences)))
    return sorted(found, key=lambda each: -abs(each.value))


def with_truth(slots, truths, allowed=ALLOWED):
    """Differences from what the program itself counted: `truths` has a {(kind, name): share} for each slot."""
    found, whole = [], total(slots)
    for kind, name in truths[0]:
        def of(seen):
            return sum(times for function, times in getattr(seen, kind).items() if function.name.split(".")[-1] == name)
        values = [of(slot) / max(1, slot.samples) for slot in slots]
        own = [truth[kind, name] for truth in truths]
        mean = of(whole) / max(1, whole.samples)
        counts = mean * (1 - mean) / max(1, whole.samples)
        error = _error([value - true for value, true in zip(values, own)], counts)
        found.append(Difference((name,), kind, statistics.mean(values), statistics.mean(own), error, len(values)))
    return sorted(found, key=lambda each: abs(each.value) - each.limit(allowed), reverse=True)


def _homogeneity(columns):
    """(chi-square, degrees of freedom) of several counts over the same functions."""
    functions = [name for name, times in sum(columns, collections.Counter()).items() if times >= 5 * len(columns)]
    sizes = [sum(column[name] for name in functions) for column in columns]
    whole = sum(sizes)
    if len(functions) < 2 or not all(sizes):
        return 0.0, 0
    value = 0.0
    for name in functions:
        every = sum(column[name] for column in columns)
        value += sum((column[name] - every * size / whole) ** 2 / (every * size / whole)
                     for column, size in zip(columns, sizes))
    return value, (len(functions) - 1) * (len(columns) - 1)


def chi_square(ours, theirs):
    """(chi-square of self counts, degrees of freedom, by how much more than chance the rounds of each sampler differ).
    """
    value, freedom = _homogeneity([total(ours).own, total(theirs).own])
    parts = [_homogeneity([seen.own for seen in slots]) for slots in (ours, theirs)]
    over = sum(part for part, _ in parts) / max(1, sum(free for _, free in parts))
    return value / max(1.0, over), freedom, max(1.0, over)


def chance(value, freedom):
    """The probability of a chi-square of at least that (Wilson and Hilferty's approximation)."""
    if freedom == 0:
        return 1.0
    score = ((value / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return 0.5 * math.erfc(score / math.sqrt(2))

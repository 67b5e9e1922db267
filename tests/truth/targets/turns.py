"""10, 20 and 70 % in turns of a few microseconds, and in turns of about a hundred: the same loop, 1, 2 and 7 times as
long."""
from own_time import costs_of, serve

TURN = """
def {name}():
    total = 0
    for number in range({amount}):
        total += number
"""
PARTS = (("ten", 1), ("twenty", 2), ("seventy", 7))
KINDS = (("few", 25), ("hundred", 900))
for kind, unit in KINDS:
    for part, share in PARTS:
        exec(compile(TURN.format(name=f"{part}_{kind}", amount=unit * share), "turns", "exec"), globals())


def by_few(times):
    for _ in range(times):
        seventy_few()  # noqa: F821
        ten_few()  # noqa: F821
        twenty_few()  # noqa: F821


def by_hundred(times):
    for _ in range(times):
        seventy_hundred()  # noqa: F821
        ten_hundred()  # noqa: F821
        twenty_hundred()  # noqa: F821


def inside(_times):
    known = {}
    for kind, unit in KINDS:
        costs = costs_of([globals()[f"{part}_{kind}"] for part, _ in PARTS], times=5000 // unit)
        known[f"by_{kind}"] = {name: each / sum(costs.values()) for name, each in costs.items()}
    return known


serve([by_few, by_hundred], inside, 6000000)

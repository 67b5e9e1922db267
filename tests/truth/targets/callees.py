"""Callees of 50 ns, 2 us, 20 us, 200 us and 2 ms, each called from three places."""
from own_time import serve, share_of_callee

BURN = """
def {name}():
    total = 0
    for number in range({amount}):
        total += number
    return total

def calls_{name}(times):
    for _ in range(times):
        {name}()
        {name}()
        {name}()

def twin_{name}(times):
    for _ in range(times):
        nothing()
        nothing()
        nothing()
"""
AMOUNTS = {"of_2us": 50, "of_20us": 500, "of_200us": 5000, "of_2ms": 50000}


def nothing():
    pass


def of_50ns():
    pass


def calls_of_50ns(times):
    for _ in range(times):
        of_50ns()
        of_50ns()
        of_50ns()


for burn, amount in AMOUNTS.items():
    exec(compile(BURN.format(name=burn, amount=amount), "callees", "exec"), globals())


def inside(times):
    known = {}
    for burn in AMOUNTS:
        name = f"calls_{burn}"
        known[name] = {burn: share_of_callee(globals()[name], globals()[f"twin_{burn}"], times[name])}
    return known


serve([calls_of_50ns] + [globals()[f"calls_{burn}"] for burn in AMOUNTS], inside)

"""Callees with 1, 3, 8, 24 and 64 call sites; several callees interleaved; a module body that calls in a straight line.
"""
from own_time import serve, share_of_callee

NUMBERS = (1, 3, 8, 24, 64)
BURN = """
def {name}(amount):
    total = 0
    for number in range(amount):
        total += number
    return total
"""


def call_sites(name, callee, number):
    """The source of a function that calls `callee` from `number` places."""
    return f"def {name}(times):\n    for _ in range(times):\n" + f"        {callee}(40)\n" * number


def nothing(amount):
    pass


def define(source, file):
    exec(compile(source, file, "exec"), globals())


for many in NUMBERS:
    define(BURN.format(name=f"burn_{many}") + call_sites(f"sites_{many}", f"burn_{many}", many), f"sites_{many}")
    define(call_sites(f"twin_{many}", "nothing", many), "twins")
for letter in "abc":
    define(BURN.format(name=f"burn_{letter}"), "interleaved")
define(BURN.format(name="burn_straight"), "straight_line")
BODY = compile("burn_straight(40)\n" * 300, "straight_line", "exec")
TWIN = compile("nothing(40)\n" * 300, "twins", "exec")


def straight(times):
    for _ in range(times):
        exec(BODY, globals())


def straight_twin(times):
    for _ in range(times):
        exec(TWIN, globals())


def interleaved(times):
    for _ in range(times):
        burn_a(20)  # noqa: F821
        burn_b(30)  # noqa: F821
        burn_a(10)  # noqa: F821
        burn_c(80)  # noqa: F821
        burn_b(50)  # noqa: F821
        burn_c(15)  # noqa: F821
        burn_a(5)  # noqa: F821
        burn_b(10)  # noqa: F821


def inside(times):
    known = {}
    for many in NUMBERS:
        name = f"sites_{many}"
        share = share_of_callee(globals()[name], globals()[f"twin_{many}"], times[name])
        known[name] = {f"burn_{many}": share}
    known["straight"] = {"burn_straight": share_of_callee(straight, straight_twin, times["straight"])}
    return known


serve([globals()[f"sites_{many}"] for many in NUMBERS] + [straight, interleaved], inside)

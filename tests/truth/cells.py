"""What is measured: a program on a version of CPython. There are programs that count their own time, benchmarks,
training."""
import json
import os
import pathlib
from dataclasses import dataclass

from support import interpreters

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = HERE / "targets"
PYPERFORMANCE = interpreters.CACHE / "pyperformance"


@dataclass(frozen=True)
class Program:
    name: str
    script: str
    arguments: tuple = ()
    counts_itself: bool = False
    busy_machine: bool = False  # with busy loops beside it
    is_benchmark: bool = False
    processes: int = 1
    seconds: float = 2.0  # of a slot
    minors: tuple = interpreters.TELLING
    needs_torch: bool = False


def _own(name, script, *arguments, **more):
    return Program(name, script, arguments, True, seconds=1.0, **more)


SYNTHETIC = (
    _own("call sites", "sites.py"),
    _own("callees 50 ns to 2 ms", "callees.py"),
    _own("10/20/70 by turns", "turns.py"),
    _own("shapes", "shapes.py"),
    _own("2 threads hand over", "handover.py", "2", minors=("3.8", "3.12", "3.14")),
    _own("8 threads hand over", "handover.py", "8", minors=("3.11", "3.13", "3.15")),
    _own("2 processes by turns", "pair.py", processes=2, minors=("3.11", "3.13")),
    _own("work and sleep, full machine", "sleeper.py", busy_machine=True, minors=("3.12", "3.15")),
    _own("threads without a GIL", "parallel.py", minors=interpreters.FREE_THREADED),
    _own("call sites, no GIL", "sites.py", minors=interpreters.FREE_THREADED),
)


def _benchmark(name, *arguments, folder=None, **more):
    return Program(name, "benchmark.py", (f"bm_{folder or name}", *arguments), is_benchmark=True, **more)


REAL = tuple(_benchmark(name) for name in (
    "richards", "deltablue", "chaos", "raytrace", "deepcopy", "regex_compile", "json_dumps", "json_loads", "go", "hexiom",
    "float", "generators", "nqueens", "mdp", "pyflate")) + (
    _benchmark("pickle_pure_python", "--pure-python", "pickle", folder="pickle", minors=("3.8", "3.12", "3.14")),
    _benchmark("logging", "simple", minors=("3.11", "3.13", "3.15")),
    _benchmark("spectral_norm", minors=("3.12", "3.15")),
    _benchmark("scimark", minors=("3.8", "3.13")),
    Program("train_transformer", "training.py", minors=("3.11", "3.14"), needs_torch=True),
)
SLOW_RATE = tuple((name, minor) for name in ("richards", "chaos", "raytrace", "deepcopy", "json_dumps", "call sites")
                  for minor in ("3.12", "3.15"))


@dataclass(frozen=True)
class Cell:
    program: Program
    minor: str
    rate: int

    @property
    def name(self):
        return f"{self.program.name}, {self.minor}" + ("" if self.rate == 1000 else f", {self.rate} Hz")

    @property
    def interval_us(self):
        return 1000000 // self.rate

    @property
    def file_name(self):
        return "".join(letter if letter.isalnum() or letter == "." else "-" for letter in self.name) + ".json"


def whole():
    named = {program.name: program for program in SYNTHETIC + REAL}
    cells = [Cell(program, minor, 1000) for program in SYNTHETIC + REAL for minor in program.minors]
    return cells + [Cell(named[name], minor, 100) for name, minor in SLOW_RATE]


def piece():
    """The cells that ./dev test measures."""
    named = {program.name: program for program in SYNTHETIC + REAL}
    return [Cell(named[name], minor, 1000) for name, minor in (
        ("call sites", "3.12"), ("shapes", "3.8"), ("10/20/70 by turns", "3.15"), ("raytrace", "3.13"), ("raytrace", "3.11"),
        ("deepcopy", "3.13"), ("deepcopy", "3.11"))]


def truth_of(before, after):
    """{(kind, name): share of all samples}, from two readings of the program's own clock."""
    passed = after["all"] - before["all"]
    if "among" in after:
        return {}
    known = {("inclusive", name): (after["spent"][name] - before["spent"][name]) / passed for name in after["spent"]}
    for phase, functions in after.get("inside", {}).items():
        for name, part in functions.items():
            known["own", name] = part * known["inclusive", phase]
    return known


def ratios_of(before, after):
    """{name: share among these functions}, for programs that know only that."""
    spent = {name: after["among"][name] - before["among"][name] for name in after.get("among", {})}
    return {name: each / sum(spent.values()) for name, each in spent.items()} if sum(spent.values()) else {}


def clock(target):
    target.tell("clock")
    return json.loads(target.expect("clock").text.split(" ", 1)[1])


def folders_of(interpreter):
    """({place in a root: folder of ours}, where the scripts are, where the benchmarks are) as the program sees them."""
    if not interpreter.in_root:
        return {}, str(TARGETS), str(PYPERFORMANCE), str(HERE.parent / "targets"), str(HERE.parent / "demo")
    places = {"/mnt": HERE.parent / "targets", "/srv/truth": TARGETS, "/srv/demo": HERE.parent / "demo"}
    if PYPERFORMANCE.exists():
        places["/srv/pyperformance"] = PYPERFORMANCE
    return places, "/srv/truth", "/srv/pyperformance", "/mnt", "/srv/demo"


def is_set_up():
    return os.path.isdir(PYPERFORMANCE / "bm_richards")

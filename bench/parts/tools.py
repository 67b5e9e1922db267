"""The compared tools: how each is called, on which interpreters, and how its output is read.

Every tool samples all threads, waiting ones too, by wall time, and writes names and lines. A tool's samples are the
stacks of single threads in its output, even if the tool calls something else a sample.
"""
import collections
import os
import pathlib
import re
import subprocess
from dataclasses import dataclass, field

from parts import mojo
from support import interpreters, profiler
from support.stacks import Frame

TOOL_CORE = 1
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
VENV = interpreters.CACHE / "venv-bench"
FASTEST = 10_000_000  # a rate that means: as fast as possible


@dataclass
class Output:
    stacks: collections.Counter   # of tuples of Frame, outermost first
    said: str                     # the tool's own messages about errors
    good: float = 1.0             # share of the samples that the tool does not call errors itself
    facts: dict = field(default_factory=dict)

    @property
    def samples(self):
        return sum(self.stacks.values())


def _collapsed(text, frame):
    stacks = collections.Counter()
    for line in text.splitlines():
        path, _, count = line.rpartition(" ")
        if count.isdigit():  # wrong names (Tachyon: a docstring) can have several lines
            stacks[tuple(frame(part) for part in path.split(";"))] += int(count)
    return stacks


def _frame_of_tachyon(text):
    file, _, rest = text.partition(":")
    name, _, line = rest.rpartition(":")
    return Frame(name or file, file if name else "", int(line) if name and line.isdigit() else 0)


def _first(pattern, text, otherwise="-"):
    match = re.search(pattern, text)
    return match.group(1) if match else otherwise


class Tool:
    options = []
    name = "?"
    suffix = "out"
    minors = ()
    fewest_seconds = 1.0
    fastest = FASTEST
    good_statuses = (0,)
    is_aside = False   # not part of a promise: measured once
    stops_target = False
    settle = 0.01      # seconds in which it catches up on samples that it missed while it was paused
    turn = 0.02        # seconds until it is paused again, and until it continues
    overstays = False  # after its time it continues until it has the requested number of samples, so it is interrupted

    def command(self, target, rate, seconds, output):
        raise NotImplementedError

    def where(self, target, output):
        """The path of the output of a tool that runs inside the target's root."""
        return pathlib.Path(output)

    def parse(self, output, said):
        raise NotImplementedError

    def version(self):
        raise NotImplementedError


def _ask(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[-1].strip() if done.returncode == 0 and lines else None


class PtraceProf(Tool):
    name = "ptrace-prof"
    stops_target = True  # one thread per sample: if the tool were paused meanwhile, that thread would stay stopped
    minors = interpreters.MINORS
    fewest_seconds = 0.05
    settle, turn = 0.0005, 0.002  # it does not catch up on missed samples
    binary = str(REPOSITORY / "build/bin/ptrace-prof")

    def __init__(self, *options, suffix="collapsed"):
        self.options = options
        self.suffix = suffix

    def command(self, target, rate, seconds, output):
        return [self.binary, "record", "--pid", str(target.pid), "--duration", f"{seconds:g}s", "--rate",
                "max" if rate == FASTEST else str(rate), "--max-overhead", "off", "--idle", "all", *self.options,
                "-o", str(output)]

    def parse(self, output, said):
        stacks = collections.Counter()
        if output.suffix == ".collapsed":
            stacks = profiler.collapsed(output.read_text())
        qualities = {word: float(number) for word, number in
                     re.findall(r"(truncated|torn) [<>]?([\d.]+) %", said)}
        bad = qualities.get("truncated", 0) + qualities.get("torn", 0)
        facts = {"samples": int(_first(r"([\d,]+) samples? in", said, "0").replace(",", "")), **qualities}
        return Output(stacks, f"{bad:.2f} % truncated or torn", 1 - bad / 100, facts)

    def version(self):
        return _ask([self.binary, "--version"])


class PySpy(Tool):
    suffix = "raw"
    minors = interpreters.span("3.8", "3.13")
    binary = str(VENV / "bin/py-spy")
    fastest = 1_000_000
    overstays = True

    def __init__(self, nonblocking):
        self.options = ["--nonblocking"] if nonblocking else []
        self.name = " ".join(["py-spy", *self.options])
        self.is_aside = self.stops_target = not nonblocking

    def command(self, target, rate, seconds, output):
        return [self.binary, "record", "-p", str(target.pid), "-r", str(min(rate, self.fastest)), "-d",
                f"{max(1, round(seconds))}", "-f", "raw", "-o", str(output), "-t", "-i", *self.options]

    def parse(self, output, said):
        stacks = _collapsed(output.read_text(), profiler.label)
        errors = int(_first(r"Errors: (\d+)", said, "0"))
        samples = sum(stacks.values())
        return Output(stacks, f"{100 * errors / max(1, samples + errors):.2f} % errors")

    def version(self):
        return _ask([self.binary, "--version"])


class Austin(Tool):
    """Its wheel needs a newer glibc than Debian 12's; if so, it runs with the loader of a newer root."""
    name = "austin"
    suffix = "mojo"
    minors = interpreters.span("3.9", "3.13")
    binary = str(VENV / "bin/austin")
    good_statuses = (0, 254)  # 254: -x ends an attachment with this status although nothing went wrong

    def __init__(self):
        self.prefix = []
        for prefix in ([], *self._loaders()):
            if _ask([*prefix, self.binary, "--version"]):
                self.prefix = prefix
                break

    @staticmethod
    def _loaders():
        for name in ("trixie", "forky"):
            root = interpreters.CACHE / "roots" / name
            loader = root / "lib64/ld-linux-x86-64.so.2"
            if loader.exists():
                yield [str(loader), "--library-path", f"{root}/usr/lib/x86_64-linux-gnu"]

    def command(self, target, rate, seconds, output):
        return [*self.prefix, self.binary, "-i", str(max(1, round(1_000_000 / rate))), "-p", str(target.pid), "-x",
                f"{max(1, round(seconds))}", "-o", str(output)]

    def parse(self, output, said):
        plain = re.sub(r"\x1b\[[\d;]*m", "", said)
        return Output(mojo.stacks(output.read_bytes()), f"{_first(r'Error rate.*?([0-9.]+)%', plain)} % errors")

    def version(self):
        return _ask([*self.prefix, self.binary, "--version"])


def _namespaced(pid):
    """Its process ID in our PID namespace and in each nested one, down to its own."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1:] for line in lines if line.startswith("NSpid:"))


class Tachyon(Tool):
    """CPython 3.15's own profiling.sampling, run inside the root of its target."""
    suffix = "tachyon"
    minors = ("3.15",)
    fastest = 200_000

    def __init__(self, interpreter, blocking=False):
        self.interpreter = interpreter
        self.options = ["--blocking"] if blocking else []
        self.name = " ".join(["Tachyon", *self.options])
        self.is_aside = self.stops_target = blocking

    def _inside(self, target):
        if not target.interpreter.in_root:
            return []
        into = ["-p"] if len(_namespaced(target.pid)) > 1 else []
        return ["nsenter", "-t", str(target.pid), "-m", "-r", "-w", *into]

    def command(self, target, rate, seconds, output):
        pid = _namespaced(target.pid)[-1] if target.interpreter.in_root else str(target.pid)
        return [*self._inside(target), self.interpreter.path, "-m", "profiling.sampling", "attach", pid, "-a",
                "-r", str(min(rate, self.fastest)), "-d", f"{max(1, round(seconds))}", "--collapsed", "-o",
                f"/tmp/{output.name}" if target.interpreter.in_root else str(output), *self.options]

    def where(self, target, output):
        return pathlib.Path(f"{target.interpreter.root}/tmp/{output.name}") if target.interpreter.in_root else output

    def parse(self, output, said):
        stacks = _collapsed(output.read_text(), _frame_of_tachyon)
        return Output(stacks, f"{_first(r'Error rate: ([0-9.]+)', said)} % errors",
                      1 - float(_first(r"Error rate: ([0-9.]+)", said, "0")) / 100)

    def version(self):
        return f"Python {self.interpreter.version}, profiling.sampling"


def set_up():
    """Makes the virtual environment of the peers if it is not there; returns what is missing, in sentences."""
    if not (VENV / "bin/py-spy").exists():
        print(f"setting up {VENV}", flush=True)
        requirements = REPOSITORY / "bench/requirements.txt"
        for command in (["python3", "-m", "venv", str(VENV)],
                        [str(VENV / "bin/pip"), "-q", "--disable-pip-version-check", "install", "-r", str(requirements)]):
            if subprocess.run(command).returncode != 0:
                return [f"py-spy and austin: `{' '.join(command)}` failed"]
    return []


def available():
    """(tools, sentences about those that are not available here)"""
    missing = set_up()
    tools = []
    found = interpreters.of_minor("3.15")
    candidates = [PySpy(True), PySpy(False), Austin()]
    if found and (not found[0].in_root or os.geteuid() == 0):
        candidates += [Tachyon(found[0]), Tachyon(found[0], blocking=True)]
    else:
        missing.append("Tachyon: there is no CPython 3.15 here (./dev setup test unpacks Debian's)")
    for tool in candidates:
        if tool.version():
            tools.append(tool)
        else:
            missing.append(f"{tool.name}: `{getattr(tool, 'binary', '')} --version` failed")
    return tools, missing

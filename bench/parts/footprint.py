"""Measurements of ptrace-prof alone: system calls and bytes per sample, memory of the collector over time."""
import re
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass

from parts import cost
from parts.tools import TOOL_CORE, PtraceProf
from support.children import children_of


@dataclass
class Calls:
    scenario: str
    minor: str
    reads: float    # process_vm_readv per thread-sample
    every: float    # system calls per thread-sample, except the sleep between rounds
    by_name: dict


def _counted(target, rate, seconds):
    """(samples, {system call: count}) of the command, the collector and the export."""
    tool = PtraceProf()
    with tempfile.TemporaryDirectory(prefix="ptrace-prof-bench-") as folder:
        output, table = cost.output_path(folder, tool), f"{folder}/strace"
        done = subprocess.run(["taskset", "-c", str(TOOL_CORE), "strace", "-f", "-c", "-o", table,
                               *tool.command(target, rate, seconds, output)], capture_output=True, text=True)
        if done.returncode != 0:
            raise cost.Refused(f"strace of ptrace-prof ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        samples = tool.parse(output, done.stdout + done.stderr).facts["samples"]
        with open(table) as lines:
            counts = {}
            for line in lines:
                match = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", line)
                if match and match.group(2) != "total":
                    counts[match.group(2)] = int(match.group(1))
    return samples, counts


def system_calls(target, rate, seconds):
    """System calls per sample, from the difference between a short and a long run, which excludes start-up."""
    few, early = _counted(target, rate, 1)
    many, late = _counted(target, rate, 1 + seconds)
    samples = max(1, many - few)
    per_sample = {name: (count - early.get(name, 0)) / samples for name, count in late.items()}
    every = sum(count for name, count in per_sample.items() if name != "clock_nanosleep")
    return Calls(target.scenario.name, target.interpreter.minor, per_sample.get("process_vm_readv", 0), every,
                 {name: count for name, count in per_sample.items() if count >= 0.005})


@dataclass
class Bytes:
    what: str
    samples: int
    size: int

    @property
    def each(self):
        return self.size / max(1, self.samples)


def trace_size(target, rate, seconds):
    run = cost.run(PtraceProf(suffix="pftrace"), target, rate, seconds, judge=False)
    return Bytes(target.scenario.name, run.samples, run.output.facts["bytes"])


@dataclass
class Memory:
    scenario: str
    rate: int
    samples: int
    peak_kib: int        # the largest of our processes, export included
    series: list         # (seconds, KiB) of the collector

    def _third(self, number):
        size = len(self.series) // 3
        return statistics.median(kib for _, kib in self.series[number * size:(number + 1) * size]) if size else 0

    @property
    def steady_kib(self):
        return max((kib for _, kib in self.series[len(self.series) // 3:]), default=0)

    @property
    def growth_kib(self):
        """Growth from the middle third of the run to the last third."""
        return self._third(2) - self._third(1)


def _resident_kib(pid):
    try:
        with open(f"/proc/{pid}/status") as lines:
            return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


def memory(target, rate, seconds):
    tool = PtraceProf(suffix="pftrace")
    with tempfile.TemporaryDirectory(prefix="ptrace-prof-bench-") as folder:
        output = cost.output_path(folder, tool)
        with open(f"{folder}/said", "w+") as said:
            process = subprocess.Popen(cost.command_line(tool, target, rate, seconds, output), stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=said)
            series, started = [], time.monotonic()
            while process.poll() is None:
                collectors = children_of(process.pid)
                if collectors and time.monotonic() - started > 0.3:
                    series.append((time.monotonic() - started, sum(map(_resident_kib, collectors))))
                time.sleep(0.1)
            said.seek(0)
            words = said.read()
        samples = tool.parse(output, words).facts["samples"]
    peak = max((kib for _, kib in series), default=0)
    return Memory(target.scenario.name, rate, samples, peak, [point for point in series if point[1]])

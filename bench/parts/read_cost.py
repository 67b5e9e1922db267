"""The cost of a sample, in bare reads of 1 KiB: runs bench/read_cost_bench.cc against a target."""
import json
import subprocess
from dataclasses import dataclass

from parts.statistics_of_ratios import median
from parts.tools import TOOL_CORE

REPEATS = 9


@dataclass
class ReadCost:
    scenario: str
    minor: str
    bare_us: float
    round_us: float
    reads: float     # process_vm_readv per round
    threads: float   # thread-samples per round

    @property
    def ratio(self):
        """The cost of a thread-sample, in bare reads."""
        return self.round_us / self.threads / self.bare_us


def measure(binary, target):
    command = ["taskset", "-c", str(TOOL_CORE), binary, f"--pid={target.pid}", "--benchmark_format=json",
               f"--benchmark_repetitions={REPEATS}", "--benchmark_min_time=0.1",
               "--benchmark_enable_random_interleaving=true"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    runs = [one for one in json.loads(done.stdout)["benchmarks"] if one["run_type"] == "iteration"]
    failed = [one["error_message"] for one in runs if one.get("error_occurred")]
    if failed:
        raise RuntimeError(f"read_cost_bench: {failed[0]}")

    def of(name, field):
        return median([one[field] for one in runs if one["run_name"] == name])

    # CPU time, so that other processes on the core matter less.
    return ReadCost(target.scenario.name, target.interpreter.minor, of("BareRead", "cpu_time") / 1000,
                    of("Round", "cpu_time") / 1000, of("Round", "reads"), of("Round", "threads"))

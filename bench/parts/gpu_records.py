"""The collector's cost of a CUPTI record, from a buffer to the stream, without a GPU: bench/gpu_records_bench.cc."""
import json
import subprocess
from dataclasses import dataclass

from parts.statistics_of_ratios import median
from parts.tools import TOOL_CORE

REPEATS = 9


@dataclass
class GpuRecords:
    decoded: list    # records per second of CPU of one core, by repeat: only decoded
    whole: list      # decoded, joined to their launches and encoded
    each: float      # bytes of trace per record

    @property
    def rate(self):
        return median(self.whole)


def measure(binary):
    command = ["taskset", "-c", str(TOOL_CORE), binary, "--benchmark_format=json", f"--benchmark_repetitions={REPEATS}",
               "--benchmark_min_time=0.3"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    runs = [one for one in json.loads(done.stdout)["benchmarks"] if one["run_type"] == "iteration"]

    def of(name, field):
        return [one[field] for one in runs if one["run_name"] == name]

    return GpuRecords(of("Decode", "items_per_second"), of("DecodeJoinEncode", "items_per_second"),
                      median(of("DecodeJoinEncode", "bytes_per_record")))

"""How true samples of a real training job are: the demo's script (PyTorch of Debian, data loader workers), at the default rate."""
import pathlib
import subprocess
import tempfile
from dataclasses import dataclass

from parts import cost
from support import profiler

PYTHON = "/usr/bin/python3"  # what Debian's PyTorch is for
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tests/demo/train_transformer.py"


@dataclass
class Training:
    seconds: float
    samples: int
    truncated: float  # percent
    stopped: float

    @property
    def doubtful(self):
        return self.truncated + self.stopped


def _started():
    job = subprocess.Popen([PYTHON, str(SCRIPT), "--seconds", "600"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if not any(line.startswith("ready") for line in job.stdout):
        job.wait()
        raise cost.Refused(f"{SCRIPT.name} did not start: is PyTorch there (./dev setup demo)?")
    return job


def measure(seconds):
    job = _started()
    try:
        with tempfile.TemporaryDirectory(prefix="ptrace-prof-bench-") as folder:
            finished = profiler.must("record", "--pid", job.pid, "--duration", f"{seconds:g}s", "-o", f"{folder}/out.pftrace",
                                     deadline=seconds + 120)
    finally:
        job.terminate()
        job.wait()
        job.stdout.close()
    shares = profiler.rates(finished)
    samples = int(finished.errors.split(" samples in ")[0].split()[-1].replace(",", ""))
    return Training(seconds, samples, shares["truncated"], shares["stopped"])

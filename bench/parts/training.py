"""The accuracy of samples of a real training job at the default rate: the demo's script (Debian's PyTorch, data loader
workers)."""
import contextlib
import pathlib
import subprocess
import tempfile
from dataclasses import dataclass

from parts import cost
from support import profiler

PYTHON = "/usr/bin/python3"  # the interpreter of Debian's PyTorch
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tests/demo/train_transformer.py"


@dataclass
class Training:
    seconds: float
    samples: int
    truncated: float  # percent
    torn: float

    @property
    def not_whole(self):
        return self.truncated + self.torn


def _started():
    job = subprocess.Popen([PYTHON, str(SCRIPT), "--seconds", "600"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if not any(line.startswith("ready") for line in job.stdout):
        job.wait()
        raise cost.Refused(f"{SCRIPT.name} did not start: is PyTorch there (./dev setup demo)?")
    return job


@contextlib.contextmanager
def running():
    job = _started()
    try:
        yield job
    finally:
        job.terminate()
        job.wait()
        job.stdout.close()


class Interpreter:
    """The interpreter of the job."""
    minor = "3.11"
    in_root = False


def measure(seconds):
    with running() as job:
        with tempfile.TemporaryDirectory(prefix="ptrace-prof-bench-") as folder:
            finished = profiler.must("record", "--pid", job.pid, "--duration", f"{seconds:g}s", "-o", f"{folder}/out.pftrace",
                                     deadline=seconds + 120)
    shares = profiler.rates(finished)
    samples = int(finished.errors.split(" samples in ")[0].split()[-1].replace(",", ""))
    return Training(seconds, samples, shares["truncated"], shares.get("torn", 0.0))

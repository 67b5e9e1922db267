"""Measures GPU captures on the doubles of CUDA (tests/doubles/cuda): the time from the command until the first kernel
is in the stream, of jobs that replay graphs from before the capture; and the time that the shim takes, in the target,
to hand out a buffer and to take it back. The job, the injection, the shim and the collector are real. CUPTI, the driver
and the GPU are not, and take next to no time: on a GPU all of this takes longer, by an unmeasured amount."""
import json
import os
import pathlib
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from parts.tools import REPOSITORY, PtraceProf
from parts.trace_injection import percentile
from support.target_process import TargetProcess

DRIVER = os.environ.get("PP_GPU_DRIVER", str(REPOSITORY / "build/bin/tests/gpu_driver"))
DOUBLES = os.environ.get("PP_CUDA_DOUBLES", str(REPOSITORY / "build/bin/tests/cuda"))
ATTACHES = 50
PATIENCE = 20  # seconds
KERNELS = (b"cutlass6Kernel", b"softmax_warp_fw", b"nll_loss_reduction", b"multi_tensor_apply")  # names in the stream
LAUNCHES, ROUNDS, PAUSE = 40_000, 120, 0.02  # about ten buffers of 1 MiB at a time, so that the collector keeps up


@dataclass
class GpuDoubles:
    python: str
    first_kernel_ms: list = field(default_factory=list)
    without: int = 0                                    # attaches after which no kernel came
    hand_out_ns: list = field(default_factory=list)
    take_back_ns: list = field(default_factory=list)

    @property
    def p50(self):
        return percentile(self.first_kernel_ms, 0.5)

    @property
    def p99(self):
        return percentile(self.first_kernel_ms, 0.99)

    @property
    def pair_us(self):
        """Microseconds per buffer of 1 MiB, the median."""
        return (percentile(self.hand_out_ns, 0.5) + percentile(self.take_back_ns, 0.5)) / 1000


def _until_a_kernel(command, folder):
    """Milliseconds until the stream names a kernel, or None. The command keeps the stream in a file beside its output
    until its end."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        try:
            while time.monotonic() < begin + PATIENCE and run.poll() is None:
                text = b"".join(file.read_bytes() for file in folder.iterdir())
                if any(name in text for name in KERNELS):
                    return 1000 * (time.monotonic() - begin)
                time.sleep(0.001)
            return None
        finally:
            run.terminate()
            run.wait()


def _attach(interpreter, found):
    with tempfile.TemporaryDirectory() as folder, TargetProcess(
            "cuda_job.py", interpreter, ["--rate", 2000, "--threads", 2], env={"PP_CUDA_DOUBLES": DOUBLES}) as target:
        took = _until_a_kernel([PtraceProf.binary, "record", "--host", "none", "--gpu", "--pid", str(target.pid), "--duration",
                                str(PATIENCE), "-o", str(pathlib.Path(folder, "out.pftrace"))], pathlib.Path(folder))
        if took is None:
            found.without += 1
        else:
            found.first_kernel_ms.append(took)
        target.finish()


def _hand_over(interpreter, found):
    with TargetProcess("cuda_launch_cost.py", interpreter, ["--depth", 5], env={"PP_CUDA_DOUBLES": DOUBLES}) as target:
        driver = subprocess.Popen([DRIVER, "--wait", str(target.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if "recording" not in driver.stdout.readline():
            raise RuntimeError("the shim does not record on the doubles")
        for _ in range(ROUNDS):
            target.tell(f"measure {LAUNCHES}")
            target.expect("took")
            time.sleep(PAUSE)
        target.tell("buffers")
        found.hand_out_ns, found.take_back_ns = json.loads(target.expect("times").text.split(maxsplit=1)[1])
        driver.communicate("")
        target.finish()


def measure(interpreter, say):
    found = GpuDoubles(str(interpreter))
    for number in range(ATTACHES):
        _attach(interpreter, found)
        if number % 10 == 9:
            say(f"  {number + 1} attaches: p50 {found.p50:.0f} ms")
    _hand_over(interpreter, found)
    return found


def missing():
    """The files that must be built for this part and are missing."""
    return [place for place in (DRIVER, DOUBLES) if not os.path.exists(place)]

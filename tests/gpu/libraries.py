"""Where this machine has its libcudart and libcupti: in NVIDIA's packages of this Python, or in a toolkit."""
import pathlib
import subprocess
import sys

TOOLKITS = ("/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/targets/x86_64-linux/lib",
            "/usr/lib/x86_64-linux-gnu")
ASK = """import ctypes
ctypes.CDLL({cudart!r}).cudaFree(None)  # from 13.4 on CUPTI says nothing without a driver
version = ctypes.c_uint32()
print(ctypes.CDLL({cupti!r}).cuptiGetVersion(ctypes.byref(version)), version.value)"""


def _folders():
    for entry in sys.path:
        yield from sorted(pathlib.Path(entry or ".").glob("nvidia/*/lib"))
    yield from map(pathlib.Path, TOOLKITS)


def find(name):
    """The first file of this name, with links resolved; None: there is none."""
    return next((found.resolve() for folder in _folders() for found in sorted(folder.glob(f"{name}.so.*"))), None)


def gpus():
    """The models of the GPUs, as the driver reports them."""
    told = (path.read_text() for path in sorted(pathlib.Path("/proc/driver/nvidia/gpus").glob("*/information")))
    return [line.partition(":")[2].strip() for text in told for line in text.splitlines() if line.startswith("Model:")]


def version_of(cupti, cudart):
    """The answer of cuptiGetVersion, from a process of its own."""
    done = subprocess.run([sys.executable, "-c", ASK.format(cudart=str(cudart), cupti=str(cupti))], capture_output=True,
                          text=True)
    result, _, version = done.stdout.strip().partition(" ")
    if done.returncode or result != "0":
        sys.exit(f"{cupti} does not say its version: {done.stdout}{done.stderr}")
    return version

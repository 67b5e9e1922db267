"""Records scenarios with given libraries: those of a tree of doubles, or real ones."""
import concurrent.futures
import os
import pathlib
import tempfile

from . import recorder, scenarios

DOUBLES = pathlib.Path(os.environ.get("PP_CUDA_DOUBLES", recorder.ROOT / "build/bin/tests/cuda"))
AT_ONCE = 2 * (os.cpu_count() or 1)  # they wait most of the time


def double_of(version):
    """The libcupti that imitates this version; None: there is none."""
    return next(iter(sorted((DOUBLES / version / "site-packages/nvidia").glob("*/lib/libcupti.so.*"))), None)


def _one(name, version, interpreter, library, environment, path=None):
    with tempfile.TemporaryDirectory() as folder:
        _, of_recorder = recorder.put_before(library, folder)
        return scenarios.record(name, version, interpreter, {**environment, **of_recorder},
                                path or pathlib.Path(folder, "lines"))


def on_double(name, version, interpreter, **options):
    """The events of a scenario on the double, with faults (tests/doubles/cuda/README.md)."""
    told = ",".join(f"{key}={value}" for key, value in options.items())
    return _one(name, version, interpreter, double_of(version), {"PP_CUDA_DOUBLES": str(DOUBLES), "PP_CUDA_DOUBLE": told})


def on_libraries(name, version, interpreter, cupti, cudart, path):
    """The events of a scenario on libraries such as a GPU's. `path`: the transcript, which is kept if it fails."""
    return _one(name, version, interpreter, cupti, {"PP_CUDA_RUNTIME": str(cudart)}, path)


def together(jobs):
    """{key: what its function returned}. Several functions run at once."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        started = {key: pool.submit(job) for key, job in jobs.items()}
        return {key: one.result() for key, one in started.items()}

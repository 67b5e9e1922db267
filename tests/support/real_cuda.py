"""Whether the GPU tests use the real CUDA libraries, which tests/gpu/on_a_gpu.py names in the environment, or the
doubles."""
import os

IS_REAL = bool(os.environ.get("PP_CUDA_RUNTIME"))
USUAL = "130001"  # the version of the doubles that stands for any installed version


def leave_out_what_doubles_do(test, version=USUAL, faults=()):
    """Marks tests that need a double: they need another version of CUPTI than the installed one, or faults on request.
    """
    if IS_REAL and faults:
        test.skipTest(f"a fault of the doubles: {', '.join(faults)}")
    if IS_REAL and version != USUAL:
        test.skipTest(f"version {version} of the doubles")

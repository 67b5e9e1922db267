"""Whether the tests of the GPU have real libraries of CUDA, which tests/gpu/on_a_gpu.py names in the environment, or the doubles."""
import os

IS_REAL = bool(os.environ.get("PP_CUDA_RUNTIME"))
USUAL = "130001"  # the version of the doubles that stands for whichever one there is


def leave_out_what_doubles_do(test, version=USUAL, faults=()):
    """What can be had of a double only: another version of CUPTI than there is, and faults to order."""
    if IS_REAL and faults:
        test.skipTest(f"a fault of the doubles: {', '.join(faults)}")
    if IS_REAL and version != USUAL:
        test.skipTest(f"version {version} of the doubles")

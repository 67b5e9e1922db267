"""torch.profiler._trace_validator, from whichever PyTorch here has it (from 2.14 on), without importing PyTorch."""
import glob
import importlib.util
import os
import sys
from unittest import mock

from support import interpreters


def found():
    """Its file, or None."""
    folders = [os.path.join(root, "usr/lib/python3/dist-packages")
               for root in sorted(glob.glob(str(interpreters.CACHE / "roots" / "*")))]
    paths = [os.path.join(folder, "torch", "profiler", "_trace_validator.py") for folder in folders + sys.path]
    return next(filter(os.path.isfile, paths), None)


def violations(path):
    """What it finds wrong with a trace, as texts."""
    spec = importlib.util.spec_from_file_location("_trace_validator", found())
    validator = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, _trace_validator=validator):
        spec.loader.exec_module(validator)
        return [str(one) for one in validator.validate_trace(str(path))[1]]

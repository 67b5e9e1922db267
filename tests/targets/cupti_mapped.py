"""injectable.py in a process that has mapped a libcupti, like a job on a machine without a GPU. argv: the library's
path, then the arguments of injectable.py."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv.pop(1))
import injectable  # noqa: E402,F401

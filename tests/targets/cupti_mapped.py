"""injectable.py in a process that has mapped a libcupti, as a job has that came to a machine without a GPU. argv: its path, then
what injectable.py takes."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv.pop(1))
import injectable  # noqa: E402,F401

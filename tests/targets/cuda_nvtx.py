"""NVTX as a Python job uses it, through a library of its own (a double, tests/doubles/cuda/nvtx.c), and what the job
really annotated: `truth`, times in nanoseconds of CLOCK_MONOTONIC.
"""
import ctypes
import os
import threading
import time

from cuda_libraries import DOUBLES


class Nvtx:
    def __init__(self, library="libdouble_nvtx.so"):
        self.library = ctypes.CDLL(os.path.join(DOUBLES, library))
        for name in ("push", "start", "mark"):
            getattr(self.library, "double_nvtx_" + name).argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        self.library.double_nvtx_start.restype = ctypes.c_uint64
        self.library.double_nvtx_end.argtypes = [ctypes.c_uint64]
        self.truth, self._open = [], {}
        self._stack = threading.local()

    def _note(self, what, name, domain, before):
        one = {"annotation": name, "what": what, "domain": domain or "", "tid": threading.get_native_id(),
               "begin": [before, time.monotonic_ns()], "end": None}
        self.truth.append(one)
        return one

    @staticmethod
    def _bytes(text):
        return None if text is None else text.encode()

    def push(self, name, domain=None):
        before = time.monotonic_ns()
        self.library.double_nvtx_push(self._bytes(domain), name.encode())
        stack = self._stack.__dict__.setdefault("ranges", [])
        stack.append(self._note("range", name, domain, before))

    def pop(self):
        before = time.monotonic_ns()
        self.library.double_nvtx_pop()
        self._stack.ranges.pop()["end"] = [before, time.monotonic_ns()]

    def start(self, name, domain=None):
        before = time.monotonic_ns()
        number = self.library.double_nvtx_start(self._bytes(domain), name.encode())
        return number, self._note("range", name, domain, before)

    def end(self, started):
        before = time.monotonic_ns()
        self.library.double_nvtx_end(started[0])
        started[1]["end"] = [before, time.monotonic_ns()]

    def mark(self, name, domain=None):
        before = time.monotonic_ns()
        self.library.double_nvtx_mark(self._bytes(domain), name.encode())
        one = self._note("mark", name, domain, before)
        one["end"] = one["begin"]

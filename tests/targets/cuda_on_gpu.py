"""The real libcudart and libcuda as a Python job uses them, where there is a GPU: the counterpart of
cuda_libraries.Cuda, with kernels that really run. PP_CUDA_RUNTIME is libcudart's path, PP_CUPTI_LIBRARY libcupti's.

The truth is what the job knows: "operations": [{kind, python, tid, begin, end, names}], one for each call that starts
work, with the call's time (nanoseconds of CLOCK_MONOTONIC) and the names of the kernels that it started, in order.
"""
import contextlib
import ctypes
import os
import threading
import time
from concurrent import futures

from cuda_libraries import Cuda, Dimensions

MEMORY = 1 << 20  # bytes of the device and of the host, for all copies
MAPPED_AND_PORTABLE = 3
CAPTURES_OF_THREAD = 1
# A kernel with a name. It runs for so many nanoseconds, or until the host ends it.
HEAD = """.version 7.0
.target sm_75
.address_size 64
"""
TIMED = HEAD + """.visible .entry %s()
{
  .reg .u64 %%begin, %%now, %%since;
  .reg .pred %%goes_on;
  mov.u64 %%begin, %%globaltimer;
again:
  mov.u64 %%now, %%globaltimer;
  sub.u64 %%since, %%now, %%begin;
  setp.lt.u64 %%goes_on, %%since, %d;
  @%%goes_on bra again;
  ret;
}
"""
HELD = HEAD + """.visible .entry %s(.param .u64 word)
{
  .reg .u64 %%word;
  .reg .u32 %%said;
  .reg .pred %%goes_on;
  ld.param.u64 %%word, [word];
again:
  ld.volatile.global.u32 %%said, [%%word];
  setp.eq.u32 %%goes_on, %%said, 0;
  @%%goes_on bra again;
  ret;
}
"""


class CudaOnGpu(Cuda):
    def __init__(self, cupti=True):
        os.environ.setdefault("CUDA_MODULE_LOADING", "EAGER")  # so that nothing is loaded during a capture
        self.runtime = ctypes.CDLL(os.environ["PP_CUDA_RUNTIME"])
        self._check(self.runtime.cudaFree(None))  # now there is a context, and the driver is mapped
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.cupti = ctypes.CDLL(os.environ["PP_CUPTI_LIBRARY"]) if cupti else None
        self._sites, self._arguments, self._local = [], {}, threading.local()
        self._launch = getattr(self.runtime, "__cudaLaunchKernel", self.runtime.cudaLaunchKernel)  # the first from 13.0 on
        self._of_thread, self._engine = {}, futures.ThreadPoolExecutor(1)
        self._names, self._nodes, self._truth = {}, {}, []
        self._declare()
        self.driver.cuLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3
        self.runtime.cudaLibraryLoadData.argtypes = [ctypes.c_void_p, ctypes.c_char_p] + [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint] * 2
        self.runtime.cudaLibraryGetKernel.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p]
        self.runtime.cudaHostAlloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
        self._device = self._made(0, self.runtime.cudaMalloc, MEMORY)
        self._host = self._made(0, self.runtime.cudaHostAlloc, MEMORY, MAPPED_AND_PORTABLE)
        self._word = ctypes.c_uint32.from_address(self._made(0, self.runtime.cudaHostAlloc, 64, MAPPED_AND_PORTABLE))

    def _load(self, name, text):
        library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self._check(self.runtime.cudaLibraryLoadData(ctypes.byref(library), text.encode(), None, None, 0, None, None, 0))
        self._check(self.runtime.cudaLibraryGetKernel(ctypes.byref(kernel), library, name.encode()))
        self._names[kernel.value] = (name,)
        return kernel.value

    @contextlib.contextmanager
    def _telling(self, site, kind, names=()):
        """Records a call that starts something, or that adds to what is captured."""
        captured = getattr(self._local, "captured", None)
        begin = time.monotonic_ns()
        yield
        if captured is None:
            self._truth.append({"kind": kind, "python": self._sites[site], "tid": threading.get_native_id(),
                                "begin": begin, "end": time.monotonic_ns(), "names": names})
        else:
            captured.extend(names)

    def kernel(self, name, nanoseconds):
        return self._load(name, TIMED % (name, nanoseconds))

    def held_kernel(self, name):
        kernel = self._load(name, HELD % name)
        self._word.value = 0
        word = ctypes.c_uint64(ctypes.addressof(self._word))
        self._arguments[kernel] = word, (ctypes.c_void_p * 1)(ctypes.addressof(word))
        return kernel

    def release(self):
        self._word.value = 1

    def _given(self, kernel):
        return self._arguments[kernel][1] if kernel in self._arguments else None

    def launch(self, site, kernel, stream, grid=(64, 1, 1), block=(256, 1, 1), shared=0):
        with self._telling(site, "kernel", self._names[kernel]):
            self._check(self._launch(kernel, Dimensions(*grid), Dimensions(*block), self._given(kernel), shared, stream))

    def launch_by_driver(self, site, kernel, stream, grid=(64, 1, 1), block=(256, 1, 1)):
        with self._telling(site, "kernel", self._names[kernel]):
            self._check(self.driver.cuLaunchKernel(kernel, *grid, *block, 0, stream, self._given(kernel), None))

    def run_backward(self, site, kernel, stream, launches):
        """Launches on a thread of its own, like an engine's, although this one has Python."""
        self._engine.submit(lambda: [self.launch(site, kernel, stream) for _ in range(launches)]).result()

    def copy(self, site, size, kind, stream):
        to, of = (self._device, self._host) if kind == 1 else (self._host, self._device)
        with self._telling(site, "memcpy"):
            self._check(self.runtime.cudaMemcpyAsync(to, of, min(size, MEMORY), kind, stream))

    def fill(self, site, size, stream):
        with self._telling(site, "memset"):
            self._check(self.runtime.cudaMemsetAsync(self._device, 0, min(size, MEMORY), stream))

    def begin_capture(self, site, stream):
        """The capture does not include what other threads do meanwhile."""
        self._check(self.runtime.cudaStreamBeginCapture(stream, CAPTURES_OF_THREAD))
        self._local.captured = []

    def end_capture(self, site, stream):
        nodes, self._local.captured = self._local.captured, None
        graph = super().end_capture(site, stream)
        self._nodes[graph] = nodes
        return graph

    def replay(self, site, graph, stream):
        with self._telling(site, "graph", self._nodes[graph]):
            self._check(self.runtime.cudaGraphLaunch(graph, stream))

    def truth(self):
        return {"calls": [], "operations": self._truth}

    def misuse(self):
        return {}

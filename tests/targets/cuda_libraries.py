"""The doubles of CUDA's libraries (tests/doubles/cuda) as a Python job uses them: by ctypes, mapped from where a wheel
has them. `Cuda` makes the calls and remembers which function of the job made each; `truth` is what really happened.
"""
import array
import ctypes
import glob
import os
import threading

DOUBLES = os.environ.get("PP_CUDA_DOUBLES", os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir,
                                                         "build", "bin", "tests", "cuda"))


class Dimensions(ctypes.Structure):
    _fields_ = [(axis, ctypes.c_uint32) for axis in "xyz"]


class _Call(ctypes.Structure):
    _fields_ = [("start", ctypes.c_uint64), ("end", ctypes.c_uint64), ("function", ctypes.c_char_p),
                *((name, ctypes.c_uint32) for name in ("tid", "index", "domain", "cbid", "correlation")),
                ("result", ctypes.c_int32)]


class _Operation(ctypes.Structure):
    _fields_ = [("start", ctypes.c_uint64), ("end", ctypes.c_uint64), ("name", ctypes.c_char_p),
                ("bytes", ctypes.c_uint64), ("node", ctypes.c_uint64),
                *((name, ctypes.c_uint32) for name in ("tid", "index", "kind", "stream", "correlation", "graph", "device"))]


FOREVER = 1000 * 1000000000  # ns
KINDS = {1: "kernel", 2: "memcpy", 3: "memset", 4: "sync"}


def find(version, pattern):
    """The library in the fake site-packages of a version of CUPTI."""
    found = glob.glob(os.path.join(DOUBLES, str(version), "site-packages", "nvidia", "*", "lib", pattern))
    if not found:
        raise SystemExit("no %s for version %s under %s: build the target cuda_double" % (pattern, version, DOUBLES))
    return os.path.realpath(found[0])


class CudaError(RuntimeError):
    pass


class Cuda:
    """One process's CUDA. `site`: the name of the function that makes the call, for the truth; any thread."""

    def __init__(self, version="130001", cupti=True):
        self.runtime = ctypes.CDLL(find(version, "libcudart.so.*"))
        self.engine = ctypes.CDLL(os.path.join(DOUBLES, str(version), "site-packages", "torch", "lib", "libtorch_cuda.so"))
        self.engine.engine_run_backward.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32]
        # A test may have put another library in front of it.
        self.cupti = ctypes.CDLL(os.environ.get("PP_CUPTI_LIBRARY") or find(version, "libcupti.so.*")) if cupti else None
        self._sites, self._of_thread, self._local = [], {}, threading.local()
        self._backward = threading.Lock()
        self.runtime.double_kernel.restype = ctypes.c_void_p
        self.runtime.double_kernel.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
        self.runtime.double_reload.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self._launch_by_driver = None
        self._launch = getattr(self.runtime, "__cudaLaunchKernel" if int(version) >= 130000 else "cudaLaunchKernel")
        self._declare()

    def _declare(self):
        for launch in (self.runtime.cudaLaunchKernel, self._launch):
            launch.argtypes = [ctypes.c_void_p, Dimensions, Dimensions, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self.runtime.cudaMemcpyAsync.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                                                 ctypes.c_void_p]
        self.runtime.cudaMemsetAsync.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p]
        for name in ("cudaStreamSynchronize", "cudaStreamCreate", "cudaFree"):
            getattr(self.runtime, name).argtypes = [ctypes.c_void_p]
        self.runtime.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.runtime.cudaStreamBeginCapture.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.runtime.cudaStreamEndCapture.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        self.runtime.cudaGraphInstantiate.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]
        self.runtime.cudaGraphLaunch.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

    def site(self, name):
        """A number for a function of the job."""
        self._sites.append(name)
        return len(self._sites) - 1

    def _said(self):
        """Which function made each call of this thread, in order."""
        try:
            return self._local.said
        except AttributeError:
            said = self._local.said = self._of_thread.setdefault(threading.get_native_id(), array.array("H"))
            return said

    def run_backward(self, site, kernel, stream, launches):
        """The thread pt_autograd_0, which has no Python, launches; the calling thread waits for it."""
        with self._backward:  # the truth needs their order
            tid = self.engine.engine_run_backward(kernel, stream, launches)
            self._of_thread.setdefault(tid, array.array("H")).extend([site] * launches)

    def _check(self, result):
        if result:
            raise CudaError("CUDA error %d" % result)

    def misuse(self):
        """Forbidden things that clients of libcupti did: struct cupti_misuse."""
        counts = (ctypes.c_uint64 * 9)()
        if self.cupti is None:
            return {}
        self.cupti.double_cupti_misuse(counts)
        return dict(zip(("calls_in_request", "flushes_in_callback", "dirty_buffers", "misaligned_buffers",
                         "finalized_outside_exit", "finalized_in_capture", "undelivered_at_finalize",
                         "late_attributes", "calls_in_child"), counts))

    def kernel(self, name, nanoseconds):
        return self.runtime.double_kernel(name.encode(), nanoseconds)

    def held_kernel(self, name):
        """A kernel that does not end before `release`; here it never ends."""
        return self.kernel(name, FOREVER)

    def release(self):
        pass

    def launch(self, site, kernel, stream, grid=(64, 1, 1), block=(256, 1, 1), shared=0):
        self._said().append(site)
        self._check(self._launch(kernel, Dimensions(*grid), Dimensions(*block), None, shared, stream))

    def launch_by_driver(self, site, kernel, stream, grid=(64, 1, 1), block=(256, 1, 1)):
        """Launches as Triton does."""
        if self._launch_by_driver is None:
            self._launch_by_driver = ctypes.CDLL("libcuda.so.1").cuLaunchKernel  # the library that is mapped
            self._launch_by_driver.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3
        self._said().append(site)
        self._check(self._launch_by_driver(kernel, *grid, *block, 0, stream, None, None))

    def set_device(self, number):
        """Sets the device for this thread's next streams."""
        self._check(self.runtime.cudaSetDevice(number))

    def copy(self, site, size, kind, stream):
        self._said().append(site)
        self._check(self.runtime.cudaMemcpyAsync(None, None, size, kind, stream))

    def fill(self, site, size, stream):
        self._said().append(site)
        self._check(self.runtime.cudaMemsetAsync(None, 0, size, stream))

    def synchronise(self, site, stream):
        self._said().append(site)
        self._check(self.runtime.cudaStreamSynchronize(stream))

    def synchronise_device(self, site):
        self._said().append(site)
        self._check(self.runtime.cudaDeviceSynchronize())

    def _made(self, site, function, *arguments):
        made = ctypes.c_void_p()
        self._said().append(site)
        self._check(function(ctypes.byref(made), *arguments))
        return made.value

    def allocate(self, site, size):
        return self._made(site, self.runtime.cudaMalloc, size)

    def stream(self, site):
        return self._made(site, self.runtime.cudaStreamCreate)

    def begin_capture(self, site, stream):
        self._said().append(site)
        self._check(self.runtime.cudaStreamBeginCapture(stream, 0))

    def end_capture(self, site, stream):
        """The graph, ready to be launched."""
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self._said().extend([site, site])
        self._check(self.runtime.cudaStreamEndCapture(stream, ctypes.byref(graph)))
        self._check(self.runtime.cudaGraphInstantiate(ctypes.byref(executable), graph, 0))
        return executable.value

    def replay(self, site, graph, stream):
        self._said().append(site)
        self._check(self.runtime.cudaGraphLaunch(graph, stream))

    def truth(self):
        """What happened, times in nanoseconds of CLOCK_MONOTONIC: {"calls": […], "operations": […]}."""
        driver = ctypes.CDLL("libcuda.so.1")  # the library that is mapped
        return {"calls": self._list(driver.double_truth_calls, _Call),
                "operations": self._list(driver.double_truth_ops, _Operation)}

    def _list(self, function, structure):
        count = ctypes.c_uint64()
        function.restype = ctypes.POINTER(structure)
        items = function(ctypes.byref(count))
        return [self._plain(items[number]) for number in range(count.value)]

    def _plain(self, item):
        plain = {name: getattr(item, name) for name, _ in item._fields_}
        for name in ("function", "name"):
            if plain.get(name):
                plain[name] = plain[name].decode()
        if "kind" in plain:
            plain["kind"] = KINDS[plain["kind"]]
        said = self._of_thread.get(item.tid, ())
        index = plain.pop("index")
        plain["python"] = self._sites[said[index]] if index < len(said) else None
        return plain


def open_cuda(version="130001", cupti=True):
    """The doubles, or the real libraries where the environment names them."""
    if not os.environ.get("PP_CUDA_RUNTIME"):
        return Cuda(version, cupti)
    from cuda_on_gpu import CudaOnGpu
    return CudaOnGpu(cupti)

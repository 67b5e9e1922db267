"""Scenes on the doubles of CUDA, for tests/integration/cuda_double_test.py: argv names one, its results are JSON.

Nothing here depends on how long something takes: kernels that must not end in a scene take a thousand seconds.
"""
import ctypes
import json
import os
import sys
import threading

import cupti_client
from cuda_job import Model
from cuda_libraries import Cuda
from cuda_nvtx import Nvtx
from cupti_client import GRAPH_TRACE, JIT, KERNEL, MARKER, MEMCPY, MEMSET, OVERHEAD, RUNTIME, Client

STEPS = 30
FOREVER = 1000 * 1000000000
GET_VERSION = (1, 2)  # cuDriverGetVersion of the driver API
FATAL_ERROR = (6, 1)  # CUPTI's state


def run(model, steps=STEPS):
    for _ in range(steps):
        model.step()


def in_threads(cuda, count, steps=STEPS):
    threads = [threading.Thread(target=lambda: run(Model(cuda), steps)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def tasks():
    return len(os.listdir("/proc/self/task"))


def late_attach(cuda):
    """Attaches to a running job, three threads go on, and leaves again."""
    model = Model(cuda)
    run(model)
    client = Client(cuda.cupti)
    attached = client.attach()
    in_threads(cuda, 3)
    detached = client.detach()
    run(model)
    return {"attached": attached, "detached": detached, "records": client.records(), "dropped": client.dropped(),
            "requests_on": sorted(set(client.requests)), "completed_on": sorted(client.completed_on),
            "misuse": cuda.misuse(), **cuda.truth()}


def many_threads(cuda):
    client = Client(cuda.cupti)
    client.attach()
    in_threads(cuda, 64, steps=2)
    client.detach()
    return {"records": client.records(), "dropped": client.dropped(), **cuda.truth()}


def one_thread(cuda):
    """One thread, traced from before its first step."""
    client = Client(cuda.cupti)
    attached = client.attach()
    run(Model(cuda))
    detached = client.detach()
    return {"attached": attached, "detached": detached, "records": client.records(), "dropped": client.dropped(),
            "buffers": [buffer.hex() for buffer in client.buffers],
            "offsets": [client.offsets(buffer) for buffer in client.buffers], **cuda.truth()}


def nvtx_to(cuda, library="libdouble_nvtx.so"):
    """The NVTX of a library that makes its first call now, bound to the process's CUPTI."""
    os.environ["NVTX_INJECTION64_PATH"] = cuda.cupti._name
    return Nvtx(library)


def annotations(cuda):
    """Two libraries, one of which called NVTX before it could be bound to anything; and a range from before."""
    os.environ.pop("NVTX_INJECTION64_PATH", None)
    early, client = Nvtx("libdouble_nvtx_other.so"), Client(cuda.cupti)
    early.mark("bound to nothing")
    nvtx = nvtx_to(cuda)
    nvtx.push("before")
    started = nvtx.start("across threads", "domain")
    client.attach((MARKER,))
    nvtx.push("inner")
    across = nvtx.start("across threads", "domain")
    thread = threading.Thread(target=lambda: (nvtx.push("other"), nvtx.end(across), nvtx.mark("mark"), nvtx.pop()))
    thread.start()
    thread.join()
    early.mark("still bound to nothing")
    nvtx.end(started)
    nvtx.pop()
    nvtx.pop()
    client.detach((MARKER,))
    nvtx.mark("after")
    texts = {record["domain"]: ctypes.string_at(record["domain"]).decode() for record in client.records(MARKER)
             if record["domain"]}
    return {"records": client.records(MARKER), "texts": texts, "truth": nvtx.truth, "process": os.getpid(),
            "thread": threading.get_native_id()}


def every_kind(cuda):
    """Graphs as a whole, from before and from later, and code that is loaded late, on two GPUs."""
    old, client = Model(cuda), Client(cuda.cupti)
    client.attach((MARKER, RUNTIME, MEMCPY, MEMSET, OVERHEAD, JIT, GRAPH_TRACE, KERNEL))
    cuda.set_device(1)
    new = Model(cuda)
    run(old)
    run(new)
    nvtx = nvtx_to(cuda)
    nvtx.push("range", "domain")
    nvtx.mark("mark")
    nvtx.pop()
    client.detach((MARKER, RUNTIME, MEMCPY, MEMSET, OVERHEAD, JIT, GRAPH_TRACE, KERNEL))
    return {"records": client.records(), "buffers": [buffer.hex() for buffer in client.buffers],
            "offsets": [client.offsets(buffer) for buffer in client.buffers], **cuda.truth()}


def declined(cuda):
    """The client has no buffer for the first requests."""
    client = Client(cuda.cupti, size=4096, declines=3)
    client.register()
    cuda.cupti.cuptiActivityEnable(KERNEL)
    run(Model(cuda))
    client.library.cuptiActivityDisable(KERNEL)
    cuda.cupti.cuptiActivityFlushAll(1)
    return {"records": client.records(), "dropped": client.dropped(), "again": client.dropped(), **cuda.truth()}


def before_register(cuda):
    """Kinds are enabled before any buffer can be requested."""
    model, client = Model(cuda), Client(cuda.cupti)
    enabled = cuda.cupti.cuptiActivityEnable(KERNEL)
    flushed = cuda.cupti.cuptiActivityFlushAll(0)
    run(model)
    client.register()
    cuda.cupti.cuptiActivityFlushAll(1)
    before = len(client.records(KERNEL))
    run(model, 1)
    cuda.cupti.cuptiActivityFlushAll(1)
    return {"enabled": enabled, "flushed": flushed, "before": before, "after": len(client.records(KERNEL)),
            "correlations": sorted({record["correlation"] for record in client.records(KERNEL)})}


def callbacks(cuda):
    """Which calls have callbacks: none, one that is enabled, none again, all of a domain."""
    model, client, seen = Model(cuda), Client(cuda.cupti), []
    client.subscribe()

    def step():
        del client.calls[:]
        run(model, 1)
        seen.append(sorted(set(client.calls)))

    step()
    cuda.cupti.cuptiEnableCallback(1, client.subscriber, 2, 131)
    step()
    cuda.cupti.cuptiEnableCallback(0, client.subscriber, 2, 131)
    step()
    cuda.cupti.cuptiEnableDomain(1, client.subscriber, 2)
    step()
    client.library.cuptiUnsubscribe(client.subscriber)
    step()
    return seen


def subscribers(cuda):
    """Two subscribers; the second one again after the first has left; and a wrong size of the parameters."""
    first, second = Client(cuda.cupti), Client(cuda.cupti)
    wrong = second.subscribe(size=8)
    return {"wrong": wrong, "first": first.subscribe("the first"), "second": second.subscribe(), "owner": second.old_name,
            "left": cuda.cupti.cuptiUnsubscribe(first.subscriber), "again": second.subscribe()}


def stolen_buffers(cuda):
    """Two clients of the first kind of calls: the one that registers last gets everything."""
    model, first, second = Model(cuda), Client(cuda.cupti), Client(cuda.cupti)
    first.attach()
    run(model, 1)
    cuda.cupti.cuptiActivityFlushAll(1)
    of_first = len(first.records(KERNEL))
    registered = second.register()
    run(model, 1)
    cuda.cupti.cuptiActivityFlushAll(1)
    return {"registered": registered, "first": of_first, "then": len(first.records(KERNEL)),
            "second": len(second.records(KERNEL))}


def incomplete(cuda):
    """A kernel that does not end is held back while later ones are delivered; then a flush is forced."""
    client, site = Client(cuda.cupti, size=4096), cuda.site("incomplete")
    endless, short = cuda.kernel("endless", FOREVER), cuda.kernel("short", 1000)
    slow, fast = cuda.stream(site), cuda.stream(site)
    client.attach((RUNTIME, KERNEL))
    cuda.launch(site, endless, slow)
    for _ in range(100):
        cuda.launch(site, short, fast)
    cuda.synchronise(site, fast)
    cuda.cupti.cuptiActivityFlushAll(0)
    before = [record["name"] for record in client.records(KERNEL)]
    cuda.cupti.cuptiActivityFlushAll(1)
    return {"before": before, "all": client.records(KERNEL)}


def thread_ids(cuda):
    """Thread IDs by default, and as the system's IDs."""
    model, client = Model(cuda), Client(cuda.cupti)
    client.register()
    cuda.cupti.cuptiActivityEnable(RUNTIME)
    run(model, 1)
    cuda.cupti.cuptiSetThreadIdType(1)
    run(model, 1)
    cuda.cupti.cuptiActivityFlushAll(1)
    threads = {record["thread"] for record in client.records(RUNTIME)}
    return {"threads": sorted(threads), "tid": threading.get_native_id(), "ident": threading.get_ident() & 0xffffffff}


def call_lists(cuda):
    """Calls that are recorded: by a list, by their kind, which overrides it, and all except some."""
    model, client, seen = Model(cuda), Client(cuda.cupti), []
    client.register()

    def step():
        del client.buffers[:]
        run(model, 1)
        cuda.cupti.cuptiActivityFlushAll(1)
        seen.append(sorted({record["cbid"] for record in client.records(RUNTIME)}))

    cuda.cupti.cuptiActivityEnableRuntimeApi(505, 1)
    step()
    cuda.cupti.cuptiActivityEnable(RUNTIME)
    step()
    cuda.cupti.cuptiActivityEnableRuntimeApi(505, 0)
    step()
    cuda.cupti.cuptiActivityDisable(RUNTIME)
    step()
    return seen


def finalize(cuda):
    """Attaches, and finalizes in the exit of one of its own calls; twice."""
    model, seen = Model(cuda), []
    driver = ctypes.CDLL("libcuda.so.1")
    for _ in range(2):
        client, threads = Client(cuda.cupti), tasks()
        attached = client.attach()
        run(model)
        traced = tasks()
        client.detach()
        client.subscribe()
        results = []

        def on_call(domain, callback, site, results=results):
            if (domain, callback, site) == (*GET_VERSION, 1):
                results.append(cuda.cupti.cuptiFinalize())

        client.on_call = on_call
        cuda.cupti.cuptiEnableCallback(1, client.subscriber, *GET_VERSION)
        driver.cuDriverGetVersion(ctypes.byref(ctypes.c_int()))
        kernels = len(client.records(KERNEL))
        run(model)
        seen.append({"attached": attached, "finalized": results, "kernels": kernels, "threads": [threads, traced, tasks()],
                     "after": len(client.records(KERNEL))})
    return {"rounds": seen, "misuse": cuda.misuse()}


def finalize_badly(cuda):
    """Finalizes outside of any call, with records left, while a stream is captured."""
    client, site = Client(cuda.cupti), cuda.site("finalize_badly")
    stream = cuda.stream(site)
    client.attach()
    cuda.begin_capture(site, stream)
    cuda.cupti.cuptiFinalize()
    try:
        cuda.end_capture(site, stream)
        captured = True
    except RuntimeError as error:
        captured = str(error)
    return {"captured": captured, "misuse": cuda.misuse()}


def forbidden(cuda):
    """A flush from the callback that delivers a buffer, and buffers that break the rules."""
    client, results = Client(cuda.cupti), []
    keep, complete = client._complete, cuda.cupti.cuptiActivityFlushAll

    def taking(*arguments):
        results.append(complete(0))
        keep(*arguments)

    client._callbacks = (client._callbacks[0], cupti_client.COMPLETE(taking), client._callbacks[2])
    client.fill = b"\1"
    cuda.cupti.cuptiActivitySetAttribute(5, ctypes.byref(ctypes.c_size_t(1)), ctypes.byref(ctypes.c_uint8(1)))
    client.attach()
    run(Model(cuda), 1)
    client.detach()
    return {"results": results, "misuse": cuda.misuse()}


def attributes(cuda):
    """Read, set, read again: the pool's limit and the buffers of threads."""
    seen = []
    for number, kind, value in ((2, ctypes.c_size_t, 64), (9, ctypes.c_uint8, 0)):
        for step in ("get", "set", "get"):
            size, memory = ctypes.c_size_t(ctypes.sizeof(kind)), kind(value)
            call = cuda.cupti.cuptiActivityGetAttribute if step == "get" else cuda.cupti.cuptiActivitySetAttribute
            seen.append([call(number, ctypes.byref(size), ctypes.byref(memory)), memory.value])
    small = cuda.cupti.cuptiActivitySetAttribute(2, ctypes.byref(ctypes.c_size_t(1)), ctypes.byref(ctypes.c_size_t(1)))
    return {"seen": seen, "small": small}


def pool(cuda):
    """A pool of two device buffers."""
    cuda.cupti.cuptiActivitySetAttribute(2, ctypes.byref(ctypes.c_size_t(8)), ctypes.byref(ctypes.c_size_t(2)))
    return one_thread(cuda)


def gives_up(cuda):
    """CUPTI takes itself down meanwhile, and can be started again."""
    client, said = Client(cuda.cupti), []
    client.on_call = lambda domain, callback, result: said.append(result) if (domain, callback) == FATAL_ERROR else None
    client.attach()
    cuda.cupti.cuptiEnableCallback(1, client.subscriber, *FATAL_ERROR)
    run(Model(cuda))
    again = Client(cuda.cupti).subscribe()
    return {"said": said, "again": again,
            "untraced": sum(call["correlation"] == 0 for call in cuda.truth()["calls"])}


def captured(cuda):
    """Which calls are reported during the capture of a graph, and during its replay."""
    client, calls = Client(cuda.cupti), ((1, 307), (1, 497), (1, 514), (1, 539), (2, 311), (2, 315), (2, 319), (2, 505))
    client.attach()
    for domain, callback in calls:
        cuda.cupti.cuptiEnableCallback(1, client.subscriber, domain, callback)
    run(Model(cuda), 1)
    return {"calls": client.calls}


def bait(cuda):
    """Whether a thread that asks for the count of dropped records waits, during and after the delivery of a buffer."""
    client, given, go_on = Client(cuda.cupti, size=4096), threading.Event(), threading.Event()
    keep = client._complete

    def slow(*arguments):
        given.set()
        go_on.wait()
        keep(*arguments)

    client._callbacks = (client._callbacks[0], cupti_client.COMPLETE(slow), client._callbacks[2])
    client.attach()
    run(Model(cuda))
    given.wait()
    counting = threading.Thread(target=client.dropped)
    counting.start()
    counting.join(0.3)
    waits = counting.is_alive()
    go_on.set()
    counting.join()
    client.detach()
    return {"while": waits, "after": counting.is_alive()}


def reloaded(cuda):
    """The address of a name gets another name before the record is read."""
    client, site = Client(cuda.cupti), cuda.site("reloaded")
    kernel = cuda.kernel("the_old_one", 1000)
    stream = cuda.stream(site)
    client.attach()
    cuda.launch(site, kernel, stream)
    cuda.runtime.double_reload(kernel, b"the_new_one")
    cuda.launch(site, kernel, stream)
    client.detach()
    return [record["name"] for record in client.records(KERNEL)]


def main():
    version = sys.argv[2] if len(sys.argv) > 2 else "130001"
    sys.stdout.write(json.dumps(globals()[sys.argv[1]](Cuda(version))))


main()

"""A thread on the doubles of CUDA, with a given number of Python frames, that launches on request. Answers "measure
COUNT" with "took NANOSECONDS", and "buffers" with "times JSON": the times in which its client handed out, and took
back, the last buffers. Any other word ends it. Option: --depth N.
"""
import argparse
import ctypes
import json
import threading
import time

import pact
from cuda_libraries import Cuda

ABOVE = 3  # frames: the module, main, serve


def buffer_times(cuda):
    found = []
    for of_requests in (1, 0):
        times = (ctypes.c_uint32 * 4096)()
        count = cuda.cupti.double_buffer_times(of_requests, times)
        found.append(list(times[:count]))
    return json.dumps(found)


def serve(cuda, kernel):
    cuda.runtime.double_launch_many(ctypes.c_void_p(kernel), ctypes.c_uint64(1))  # now it uses CUDA
    pact.say("ready")
    while True:
        word, *count = pact.hear().split()
        if word == "buffers":
            pact.say("times", buffer_times(cuda))
            continue
        if word != "measure":
            return
        pact.say("took", cuda.runtime.double_launch_many(ctypes.c_void_p(kernel), ctypes.c_uint64(int(count[0]))))


def below(depth, cuda, kernel):
    if depth > 0:
        return below(depth - 1, cuda, kernel)
    return serve(cuda, kernel)


def tick():
    time.sleep(0.01)


def run_python():
    """A thread that calls functions, so that a profiler can get in."""
    while True:
        tick()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--depth", type=int, default=40)
    depth = parser.parse_args().depth
    threading.Thread(target=run_python, daemon=True).start()
    cuda = Cuda()
    cuda.runtime.double_launch_many.restype = cuda.cupti.double_buffer_times.restype = ctypes.c_uint64
    below(depth - ABOVE - 1, cuda, cuda.kernel("_Z4tinyv", 1))


if __name__ == "__main__":
    main()

"""The job of the transcripts' scenarios (tests/transcripts), on the doubles of CUDA or on a GPU. It does only what it
is asked to do, and marks all of that in the transcript.

Argument: the version of the doubles. Words, each answered "did WORD" when done: "work" (two threads, one after the
other: copies, launches by either API, a memset, the replay of a graph, a wait), "hold" (a kernel that does not end
before "release", and beside it a short one that does), "other" (another tool subscribes to CUPTI), "leave" (it
unsubscribes), "take" (it takes the buffers without subscribing, as PyTorch's profiler does, and has kernels recorded)
and "give" (it has them given back and switches them off). "finish" ends the job.
"""
import ctypes
import os
import queue
import select
import sys
import threading

import pact
from cuda_libraries import open_cuda
from cupti_client import KERNEL, Client

SIZE = 1 << 12
SHORT = 5000  # ns


class Launcher:
    """A thread that runs the functions that it is given, and the objects that they use."""

    def __init__(self, job, number):
        self.job, self.cuda, self.site = job, job.cuda, job.cuda.site("launcher")
        self.name, self.given, self.done = f"launcher#{number}", queue.SimpleQueue(), queue.SimpleQueue()
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()
        self.do(self.prepare)

    def do(self, what):
        self.given.put(what)
        failed = self.done.get()
        if failed:
            raise failed

    def loop(self):
        self.job.name_thread(self.name)
        while True:
            what = self.given.get()
            try:
                what()
            except BaseException as error:  # raised again in the calling thread
                self.done.put(error)
            else:
                self.done.put(None)

    def prepare(self):
        cuda, site = self.cuda, self.site
        self.stream = cuda.stream(site)
        cuda.begin_capture(site, self.stream)
        for _ in range(3):
            cuda.launch(site, self.job.node, self.stream, grid=(3, 1, 1), block=(32, 1, 1))
        self.graph = cuda.end_capture(site, self.stream)
        self.work()  # so that lazily loaded code is loaded now

    def work(self):
        cuda, site, stream = self.cuda, self.site, self.stream
        cuda.copy(site, SIZE, 1, stream)
        cuda.launch(site, self.job.short, stream, grid=(2, 1, 1), block=(64, 1, 1))
        cuda.launch(site, self.job.short, stream, grid=(4, 1, 1), block=(64, 1, 1))
        cuda.launch_by_driver(site, self.job.short, stream, grid=(5, 1, 1), block=(64, 1, 1))
        cuda.fill(site, SIZE, stream)
        cuda.replay(site, self.graph, stream)
        cuda.copy(site, 2 * SIZE, 2, stream)
        cuda.synchronise(site, stream)

    def hold(self):
        self.cuda.launch(self.site, self.job.held, self.job.held_stream, grid=(1, 1, 1), block=(1, 1, 1))
        self.cuda.launch(self.site, self.job.short, self.stream, grid=(6, 1, 1), block=(64, 1, 1))
        self.cuda.synchronise(self.site, self.stream)


class Job:
    def __init__(self, cuda):
        self.cuda = cuda
        self.name_thread("tool")
        self.short, self.node = cuda.kernel("short_one", SHORT), cuda.kernel("node_of_graph", SHORT)
        self.held, self.held_stream = cuda.held_kernel("held_one"), cuda.stream(cuda.site("job"))
        self.launchers = [Launcher(self, number) for number in (1, 2)]
        self.client = Client(cuda.cupti)

    def name_thread(self, name):
        self.cuda.cupti.recorder_thread(name.encode())

    def mark(self, *words):
        self.cuda.cupti.recorder_mark(" ".join(map(str, words)).encode())

    def by(self, launcher, what):
        def marked():
            self.mark("begins", what.__name__)
            what()
            self.mark("is over", what.__name__)
        launcher.do(marked)

    def do_work(self):
        for launcher in self.launchers:
            self.by(launcher, launcher.work)

    def do_hold(self):
        self.by(self.launchers[0], self.launchers[0].hold)

    def do_release(self):
        self.cuda.release()

    def do_other(self):
        self.client.subscribe("another tool")

    def do_leave(self):
        self.cuda.cupti.cuptiUnsubscribe(self.client.subscriber)

    def do_take(self):
        self.client.register()
        self.cuda.cupti.cuptiActivityEnable(KERNEL)

    def do_give(self):
        self.cuda.cupti.cuptiActivityFlushAll(1)
        self.cuda.cupti.cuptiActivityDisable(KERNEL)

    def hear(self):
        """The next word. Python code runs meanwhile, because a tracer needs that to get in."""
        while not select.select([pact.descriptor()], [], [], 0.005)[0]:
            pass
        return pact.hear()

    def obey(self):
        pact.say("ready")
        for word in iter(self.hear, "finish"):
            self.mark("begins", word)
            getattr(self, "do_" + word)()
            self.mark("is over", word)
            pact.say("did", word)


def about_gpu():
    """The version of the driver in use."""
    version = ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return version.value


def main():
    job = Job(open_cuda(sys.argv[1]))
    job.mark("driver", about_gpu())
    job.obey()
    sys.stdout.flush()
    os._exit(0)  # a kernel that is held on a double never ends


if __name__ == "__main__":
    main()

"""A job on a simulated GPU: training steps on the doubles of tests/doubles/cuda, or on real libraries if the
environment names them (cuda_on_gpu.py), in threads, until "finish". Options: --steps N (0: until finished), --rate
LAUNCHES (per second and thread; 0: unlimited), --threads N, --version V, --devices N (threads take turns), --triton (a
driver launch in each step), --replays (a step replays a graph of kernels, and waits), --unlike (every other thread runs
backward from elsewhere), --no-cupti (its library is not mapped), --nvtx (annotates its work; "epoch" begins before it
is ready; on "epoch", "epoch over", the next one begins), --truth FILE (what really happened, as JSON, at the end). Says
"ready" when every thread has done a step. Answers when done: "ping" ("pong STEPS"); "pause" ("paused": no calls until
"resume", "resumed NANOSECONDS"); "reload" ("reloaded": a kernel has another name at its address); "capture"
("capturing": a stream of its own with launches, "more" with each "more", until "captured"; then EndCapture's result,
and a replay of a graph); "replay" (it again: "replayed"); "profile" ("profiling RESULT": like PyTorch's profiler,
subscribes to CUPTI or is refused, and takes its buffers); "profiled" ("profiled KERNELS" that it has); "torch" ("torch
True", then "torch False": PyTorch's flag while its profiler runs). Other words end the job.
"""
import argparse
import json
import select
import sys
import threading
import time
import types

import pact
from cuda_libraries import CudaError, open_cuda
from cuda_nvtx import Nvtx
from cupti_client import KERNEL, Client

COMMANDS = ("ping", "pause", "resume", "reload", "capture", "replay", "profile", "profiled", "torch", "epoch", "trouble")
LAUNCHES = 15  # of a step, about
CAPTURED = 7  # launches in the graph of "capture"


class Model:
    """One thread's network: each function below launches by itself, so that a profile can distinguish them."""

    def __init__(self, cuda, triton=False, nvtx=None, replays=False):
        self.triton, self.nvtx, self.replays, self.fetch, self.steps = triton, nvtx, replays, None, 0
        self.cuda, self.site = cuda, {name: cuda.site(name) for name in (
            "prepare", "load_batch", "linear", "attention", "loss", "_engine_run_backward", "update", "replay_optimizer",
            "wait", "fused")}
        self.gemm = cuda.kernel("_ZN7cutlass6KernelI4GemmLi128ELi64EEEvNT_6ParamsE", 21000)
        self.softmax = cuda.kernel("_Z15softmax_warp_fwIfLi10EEvPT_PKS0_ii", 6000)
        self.cross_entropy = cuda.kernel("_Z18nll_loss_reductionIfEvPT_PKS0_PKl", 4000)
        self.gradient = cuda.kernel("_ZN7cutlass6KernelI8GemmGradLi128ELi64EEEvNT_6ParamsE", 15000)
        self.adam = cuda.kernel("_Z22multi_tensor_apply_adamIfEvPPT_fffi", 9000)
        self.pointwise = cuda.kernel("triton_poi_fused_add_relu_0", 3000)
        self.prepare()

    def prepare(self):
        cuda, site = self.cuda, self.site["prepare"]
        self.stream = cuda.stream(site)
        self.weights = cuda.allocate(site, 1 << 20)
        cuda.begin_capture(site, self.stream)
        for _ in range(4):
            cuda.launch(site, self.adam, self.stream)
        if not self.replays:
            cuda.fill(site, 1 << 16, self.stream)
        self.optimizer = cuda.end_capture(site, self.stream)

    def load_batch(self):
        self.cuda.copy(self.site["load_batch"], 1 << 16, 1, self.stream)

    def linear(self):
        self.cuda.launch(self.site["linear"], self.gemm, self.stream, grid=(32, 4, 1))

    def attention(self):
        self.linear()
        self.cuda.launch(self.site["attention"], self.softmax, self.stream)
        self.linear()

    def fused(self):
        self.cuda.launch_by_driver(self.site["fused"], self.pointwise, self.stream)

    def loss(self):
        self.cuda.launch(self.site["loss"], self.cross_entropy, self.stream)
        self.cuda.copy(self.site["loss"], 4, 2, self.stream)

    def _engine_run_backward(self):
        self.cuda.run_backward(self.site["_engine_run_backward"], self.gradient, self.stream, 3)

    def backward(self):
        self._engine_run_backward()

    def update(self):
        self.cuda.fill(self.site["update"], 1 << 14, self.stream)
        self.cuda.launch(self.site["update"], self.adam, self.stream)
        self.replay_optimizer()

    def replay_optimizer(self):
        self.cuda.replay(self.site["replay_optimizer"], self.optimizer, self.stream)

    def wait(self):
        self.cuda.synchronise(self.site["wait"], self.stream)

    def annotated_step(self):
        """Nested ranges, one that reaches from the middle of a step into the next, a mark."""
        nvtx, self.steps = self.nvtx, self.steps + 1
        nvtx.push("step %d" % self.steps)
        if self.fetch:
            nvtx.end(self.fetch)
        nvtx.push("forward", "model")
        nvtx.push("attention")
        self.attention()
        nvtx.pop()
        self.attention()
        nvtx.pop()
        nvtx.mark("forward is done", "model")
        self.fetch = nvtx.start("fetch")
        self.backward()
        self.update()
        self.wait()
        nvtx.pop()

    def step(self):
        if self.nvtx:
            self.annotated_step()
            return
        if self.replays:
            self.replay_optimizer()
            self.wait()
            return
        self.load_batch()
        for _ in range(2):
            self.attention()
        if self.triton:
            self.fused()
        self.loss()
        self.backward()
        self.update()
        self.wait()


class UnlikeModel(Model):
    """Equal to the other model, but launches from other places."""

    def backward(self):
        self.backward_elsewhere()

    def backward_elsewhere(self):
        self._engine_run_backward()

    def update(self):
        self.update_elsewhere()

    def update_elsewhere(self):
        super().update()


class Job:
    def __init__(self, cuda, options):
        self.cuda, self.options = cuda, options
        self.nvtx = Nvtx() if options.nvtx else None
        self.done, self.going = threading.Event(), threading.Event()
        self.going.set()
        self.stepping = [threading.Lock() for _ in range(options.threads)]
        self.first = threading.Barrier(options.threads + 1)
        self.steps, self.models = [0] * options.threads, []
        self.threads = [threading.Thread(target=self.train, args=(number,), name="trainer-%d" % number)
                        for number in range(options.threads)]

    def train(self, number):
        try:
            self.loop(number)
        except BaseException:
            self.first.abort()
            raise

    def loop(self, number):
        self.cuda.set_device(number % self.options.devices)
        kind = UnlikeModel if self.options.unlike and number % 2 else Model
        model = kind(self.cuda, self.options.triton, self.nvtx, self.options.replays)
        pause = LAUNCHES / self.options.rate if self.options.rate else 0
        self.models.append(model)
        model.step()
        self.steps[number] += 1
        self.first.wait()
        due = time.monotonic()
        while not self.done.is_set() and self.steps[number] != self.options.steps:
            self.going.wait()
            with self.stepping[number]:
                if not self.going.is_set():
                    continue
                model.step()
            self.steps[number] += 1
            due += pause
            time.sleep(max(0, due - time.monotonic()))

    def run(self):
        for thread in self.threads:
            thread.start()
        self.first.wait()
        self.epoch = self.nvtx and self.nvtx.start("epoch")
        pact.say("ready")
        while not self.options.steps and not self.done.is_set():
            self.obey(pact.hear() if pact.descriptor() >= 0 else None)
        for thread in self.threads:
            thread.join()

    def obey(self, word):
        if word is None:
            print("running; Ctrl-C ends it", flush=True)
            try:
                select.select([], [], [])
            except KeyboardInterrupt:
                pass
        answer = getattr(self, "do_" + word, None) if word in COMMANDS else None
        if answer:
            answer()
        else:
            self.going.set()
            self.done.set()

    def do_ping(self):
        pact.say("pong", sum(self.steps))

    def do_pause(self):
        self.going.clear()
        for lock in self.stepping:  # no thread is in a step any more
            lock.acquire()
        pact.say("paused", time.monotonic_ns())
        for lock in self.stepping:
            lock.release()

    def do_resume(self):
        now = time.monotonic_ns()
        self.going.set()
        pact.say("resumed", now)

    def do_reload(self):
        for model in self.models:
            self.cuda.runtime.double_reload(model.softmax, b"_Z14another_modulev")
        pact.say("reloaded")

    def do_capture(self):
        site = self.cuda.site("do_capture")
        stream = self.cuda.stream(site)
        kernel = self.cuda.kernel("_Z8capturedv", 3000)
        self.cuda.begin_capture(site, stream)
        for _ in range(CAPTURED):
            self.cuda.launch(site, kernel, stream)
        pact.say("capturing")
        while pact.hear() == "more":
            self.cuda.launch(site, kernel, stream)
            pact.say("more")
        try:
            graph = self.cuda.end_capture(site, stream)
            self.cuda.replay(site, graph, stream)
            self.graph = site, graph, stream
            pact.say("captured whole")
        except CudaError as error:
            pact.say("captured nothing:", error)

    def do_replay(self):
        self.cuda.replay(*self.graph)
        pact.say("replayed")

    def do_epoch(self):
        self.nvtx.end(self.epoch)
        self.epoch = self.nvtx.start("epoch")
        pact.say("epoch over")

    def do_profile(self):
        site = self.cuda.site("do_profile")  # while a kernel runs: the first client has its record in a buffer
        self.cuda.launch(site, self.cuda.kernel("_Z7runningv", 300_000_000), self.cuda.stream(site))
        self.client = Client(self.cuda.cupti)
        subscribed = self.client.subscribe("PyTorch profiler")
        self.client.register()
        self.cuda.cupti.cuptiActivityEnable(KERNEL)
        pact.say("profiling", subscribed)

    def do_trouble(self):
        self.cuda.cupti.double_trouble()
        pact.say("troubled")

    def do_torch(self):
        """Imitates the part of PyTorch's module that shows whether its profiler runs."""
        module = sys.modules.setdefault("torch.autograd.profiler", types.ModuleType("torch.autograd.profiler"))
        module._is_profiler_enabled = not getattr(module, "_is_profiler_enabled", False)
        pact.say("torch", module._is_profiler_enabled)

    def do_profiled(self):
        self.cuda.cupti.cuptiActivityFlushAll(0)
        pact.say("profiled", len(self.client.records(KERNEL)))


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--rate", type=float, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--version", default="130001")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--triton", action="store_true")
    parser.add_argument("--replays", action="store_true")
    parser.add_argument("--unlike", action="store_true")
    parser.add_argument("--no-cupti", action="store_true")
    parser.add_argument("--nvtx", action="store_true")
    parser.add_argument("--truth")
    return parser.parse_args()


def main():
    options = parse()
    cuda = open_cuda(options.version, cupti=not options.no_cupti)
    job = Job(cuda, options)
    job.run()
    print("%d steps" % sum(job.steps), flush=True)
    if options.truth:
        with open(options.truth, "w") as file:
            file.write(json.dumps({"steps": sum(job.steps), **cuda.truth(), "misuse": cuda.misuse(),
                                   "annotations": job.nvtx.truth if job.nvtx else []}))


if __name__ == "__main__":
    main()

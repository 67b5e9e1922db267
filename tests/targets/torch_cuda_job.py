"""A PyTorch job on a GPU that is controlled by its input and records each of its steps.

    python3 torch_cuda_job.py STEPS [--way eager|graphs|capturing] [--width N] [--batch N] [--profiled-first]

eager: a training step, kernel by kernel; graphs: that step as a CUDA graph that is replayed; capturing: a forward pass,
captured anew in every step, then replayed. STEPS: 16 bytes per step, its begin and end (ns of CLOCK_MONOTONIC), GPU
work included. Says "ready PID". Lines of input: "memory" (used bytes of the device), "profile N FILE" (torch.profiler
on for N steps; then answers), "kernels" (of a step, by torch.profiler), "stop" (answers with the steps).
"""
import argparse
import os
import select
import struct
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

ACTIVITIES = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


class Eager:
    def __init__(self, width, batch):
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
        self.model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, capturable=True, foreach=False)
        self.batch = torch.randn(batch, 64, width, device="cuda")

    def train_step(self):
        loss = self.model(self.batch).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def step(self):
        self.train_step()
        torch.cuda.synchronize()


class Graphs(Eager):
    def __init__(self, width, batch):
        super().__init__(width, batch)
        beside = torch.cuda.Stream()
        with torch.cuda.stream(beside):
            for _ in range(3):
                self.train_step()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.train_step()

    def step(self):
        self.graph.replay()
        torch.cuda.synchronize()


class Capturing(Eager):
    """Most of the time a stream is being captured, so a profiler usually arrives during a capture."""

    def __init__(self, width, batch):
        super().__init__(width, batch)
        super().step()  # what libraries make at their first use cannot be made in a capture

    def step(self):
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            for _ in range(5):
                self.model(self.batch)
        graph.replay()
        torch.cuda.synchronize()


WAYS = {"eager": Eager, "graphs": Graphs, "capturing": Capturing}


class Job:
    def __init__(self, options):
        self.work = WAYS[options.way](options.width, options.batch)
        self.steps = open(options.steps, "wb", buffering=0)
        self.count = 0
        self.profiler, self.left, self.file = None, 0, None

    def one(self):
        begin = time.monotonic_ns()
        self.work.step()
        self.steps.write(struct.pack("=QQ", begin, time.monotonic_ns()))
        self.count += 1
        if self.profiler:
            self.left -= 1
            if not self.left:
                self.profiler.__exit__(None, None, None)
                self.profiler.export_chrome_trace(self.file)
                self.profiler = None
                print("profiled", flush=True)

    def kernels(self):
        with profile(activities=ACTIVITIES) as one:
            self.work.step()
        return sum(event.device_type == torch.autograd.DeviceType.CUDA and not event.name.startswith(("Memcpy", "Memset"))
                   for event in one.events())

    def obey(self, word, *arguments):
        if word == "memory":
            free, total = torch.cuda.mem_get_info()
            print(total - free, flush=True)
        elif word == "profile":
            self.left, self.file = int(arguments[0]), arguments[1]
            self.profiler = profile(activities=ACTIVITIES)
            self.profiler.__enter__()
        elif word == "kernels":
            print(self.kernels(), flush=True)
        elif word == "stop":
            print(self.count, flush=True)
            return False
        return True

    def run(self):
        goes_on = True
        while goes_on:
            self.one()
            if select.select([0], [], [], 0)[0]:
                line = b""
                while not line.endswith(b"\n"):
                    byte = os.read(0, 1)
                    if not byte:
                        return
                    line += byte
                goes_on = self.obey(*line.decode().split())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("steps")
    parser.add_argument("--way", choices=WAYS, default="eager")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--profiled-first", action="store_true")
    options = parser.parse_args()
    job = Job(options)
    for _ in range(20):
        job.one()
    if options.profiled_first:
        job.kernels()
    print("ready", os.getpid(), flush=True)
    job.run()


if __name__ == "__main__":
    sys.exit(main())

"""Operators of PyTorch that launch work on a simulated GPU (tests/doubles/cuda): `steps N` runs them N times and answers
`done` and when they began; anything else ends the job. In each step, by the function that calls CUDA: one launch in pp::outer and, in
the pp::inner that it calls, a launch and a copy; one in a backward function, one in a range without an operator, one
outside of all. --truth FILE: what really happened, as JSON, at the end."""
import argparse
import json
import sys
import time

import pact
import torch
from cuda_libraries import open_cuda

torch.set_num_threads(1)
SITES = ("outer", "inner", "backward", "in_range", "outside")


class Launches:
    def __init__(self):
        self.cuda = open_cuda("130001")
        self.site = {name: self.cuda.site(name) for name in SITES}
        self.stream = self.cuda.stream(self.site["outside"])
        self.kernels = {name: self.cuda.kernel("_Z%d%sv" % (len(name), name), 3000 + 1000 * number)
                        for number, name in enumerate(SITES)}
        self.library = torch.library.Library("pp", "DEF")
        for name in ("outer", "inner"):
            self.library.define(name + "(Tensor x) -> Tensor")
            self.library.impl(name, getattr(self, name), "CPU")

    def launch(self, name):
        self.cuda.launch(self.site[name], self.kernels[name], self.stream)

    def outer(self, x):
        self.launch("outer")
        torch.ops.pp.inner(x)
        return x + 1

    def inner(self, x):
        self.launch("inner")
        self.cuda.copy(self.site["inner"], 1 << 12, 1, self.stream)
        return x * 2

    def step(self):
        torch.ops.pp.outer(torch.ones(2))
        Twice.apply(torch.ones(2, requires_grad=True)).sum().backward()
        with torch.autograd.profiler.record_function("in range"):
            self.launch("in_range")
        self.launch("outside")
        self.cuda.synchronise(self.site["outside"], self.stream)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return 2 * x

    @staticmethod
    def backward(context, gradient):
        launches.launch("backward")
        return 2 * gradient


parser = argparse.ArgumentParser()
parser.add_argument("--version")  # of CUPTI, always the same
parser.add_argument("--truth")
options = parser.parse_args()
launches = Launches()
launches.step()
pact.say("ready")
for words in pact.commands():
    if words[0] != "steps":
        break
    began = time.monotonic_ns()
    for _ in range(int(words[1])):
        launches.step()
    pact.say("done", began)
print("ended well")
if options.truth:
    with open(options.truth, "w") as file:
        json.dump({**launches.cuda.truth(), "misuse": launches.cuda.misuse()}, file)
sys.exit(0)

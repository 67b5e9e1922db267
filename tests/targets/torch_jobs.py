"""Training loops of many kinds, on PyTorch: `job NAME` (`job ranked RANK FILE`) makes one and warms it up, `steps N` runs it, `profiled N FILE` does
so under the job's own profiler and writes its trace, or its list of events where it was built without Kineto; `timed N`
answers with its thread CPU time in ns, `timed N OPTION…` under the job's own profiler; `version` says which PyTorch it is. Answers each with `done`; `job` with `done no …` where this PyTorch cannot. Needs an interpreter with PyTorch."""
import json
import os
import tempfile
import time
import warnings

import pact
import torch
from torch import nn
from torch.nn import functional

warnings.simplefilter("ignore")
torch.set_num_threads(1)


class Job:
    """A model with an optimizer. Each step gets the same batch."""
    optimizer = torch.optim.SGD
    options = {"lr": 0.01}

    def __init__(self):
        torch.manual_seed(0)
        self.model = self.make()
        self.optimizer = type(self).optimizer(self.model.parameters(), **self.options)
        self.batch = self.data()

    def loss(self):
        return self.model(self.batch).square().mean()

    def step(self):
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()


class Perceptron(Job):
    """Small layers and Adam: a step of many small operators."""
    optimizer = torch.optim.Adam

    def make(self):
        return nn.Sequential(nn.Linear(32, 64), *(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
                                                  for _ in range(4)), nn.Linear(64, 10))

    def data(self):
        return torch.rand(64, 32)


class Transformer(Job):
    options = {"lr": 0.01, "momentum": 0.9}

    def make(self):
        return nn.Transformer(d_model=32, nhead=4, num_encoder_layers=2, num_decoder_layers=1, dim_feedforward=64)

    def data(self):
        return torch.rand(5, 2, 32)

    def loss(self):
        return self.model(self.batch, self.batch).sum()


class Attention(Job):
    """As language models do it, with a causal mask."""
    optimizer = torch.optim.AdamW

    def make(self):
        return nn.ModuleDict({"embed": nn.Embedding(50, 32), "qkv": nn.Linear(32, 96), "norm": nn.LayerNorm(32),
                              "out": nn.Linear(32, 50)})

    def data(self):
        return torch.randint(0, 50, (2, 8))

    def loss(self):
        x = self.model["norm"](self.model["embed"](self.batch))
        q, k, v = (part.view(2, 8, 4, 8).transpose(1, 2) for part in self.model["qkv"](x).chunk(3, dim=-1))
        if hasattr(functional, "scaled_dot_product_attention"):
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            mask = torch.full((8, 8), float("-inf")).triu(1)
            y = torch.softmax(q @ k.transpose(-2, -1) / 8**0.5 + mask, dim=-1) @ v
        logits = self.model["out"](x + y.transpose(1, 2).reshape(2, 8, 32))
        return functional.cross_entropy(logits[:, :-1].reshape(-1, 50), self.batch[:, 1:].reshape(-1))

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss().backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()


class Convolution(Job):
    optimizer = torch.optim.RMSprop

    def make(self):
        return nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.GELU(),
                             nn.Conv2d(8, 8, 3, groups=4, dilation=2), nn.ReLU(), nn.MaxPool2d(2), nn.ConvTranspose2d(8, 4, 2),
                             nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(4, 2))

    def data(self):
        return torch.rand(2, 3, 24, 24)


class Recurrent(Job):
    optimizer = torch.optim.Adagrad

    def make(self):
        return nn.LSTM(8, 8, 2, bidirectional=True)

    def data(self):
        return torch.rand(4, 3, 8)

    def loss(self):
        return self.model(self.batch)[0].sum()


class Adversarial(Job):
    """Two networks with an optimizer each: a generator and a discriminator."""

    def make(self):
        self.other = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1))
        self.others = torch.optim.Adam(self.other.parameters())
        return nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))

    def data(self):
        return torch.rand(16, 2)

    def step(self):
        fake = self.model(self.batch)
        self.others.zero_grad()
        functional.softplus(self.other(fake.detach())).mean().backward()
        self.others.step()
        self.optimizer.zero_grad()
        functional.softplus(-self.other(fake)).mean().backward()
        self.optimizer.step()


class Accumulated(Job):
    """Four small batches for one step of the optimizer, in half precision, with the loop marked by the program."""

    def make(self):
        return nn.Sequential(nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 1))

    def data(self):
        return torch.rand(4, 8)

    def step(self):
        with torch.profiler.record_function("a step, marked"):
            self.optimizer.zero_grad()
            for _ in range(4):
                with torch.autocast("cpu", dtype=torch.bfloat16), torch.autograd.profiler.record_function("micro"):
                    loss = self.loss() / 4
                loss.backward()
            self.optimizer.step()


class Inference(Job):
    def make(self):
        return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 1)

    def data(self):
        return torch.rand(2, 5, 16)

    def step(self):
        self.model.eval()
        with torch.inference_mode():
            self.model(self.batch)
        with torch.no_grad():
            self.model.train()(self.batch).argmax(-1).tolist()


class Scripted(Job):
    def make(self):
        return torch.jit.script(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))

    def data(self):
        return torch.rand(4, 4)


class Compiled(Job):
    """Without a compiler of C++: the graph runs as it is."""

    def make(self):
        return torch.compile(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), backend="aot_eager")

    def data(self):
        return torch.rand(4, 4)


class Distributed(Job):
    """A group of one over gloo."""
    rank, world, path = 0, 1, ""

    def make(self):
        from torch import distributed
        from torch.nn.parallel import DistributedDataParallel
        if distributed.is_initialized():
            distributed.destroy_process_group()
        store = distributed.FileStore(self.path or os.path.join(tempfile.mkdtemp(), "store"), self.world)
        distributed.init_process_group("gloo", store=store, rank=self.rank, world_size=self.world)
        if self.world == 1:
            distributed.new_group([0])
        self.distributed = distributed
        return DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))

    def data(self):
        return torch.rand(4, 4)

    def step(self):
        super().step()
        self.distributed.all_reduce(torch.ones(3))


class Ranked(Distributed):
    """One of two processes; the other one must do the same."""
    world = 2

    def step(self):
        super().step()
        self.distributed.broadcast(torch.ones(5), 0)
        self.distributed.barrier()


class Oddities(Job):
    """Lists of tensors, many dimensions, complex and sparse numbers, strings, scalars, views, in-place changes."""

    def make(self):
        return nn.Linear(4, 4)

    def data(self):
        return torch.rand(4, 4)

    def loss(self):
        x = self.model(self.batch)
        rows = list(x.unbind(0)) * 6
        y = torch.stack(rows).sum() + torch.cat(rows, dim=0).view(4, 6, 4).permute(2, 0, 1)[1:, ..., None].mean()
        y = y + torch.einsum("ij,jk->ik", x, x).trace() + torch.linalg.norm(x, ord="fro")
        y = y + torch.fft.fft(x).abs().sum() + torch.sparse.mm(x.detach().to_sparse(), x).sum()
        z = torch.zeros(1, 1, 1, 1, 1, 2, 2).expand(2, 1, 1, 1, 1, 2, 2).clone()
        z[0].add_(1).mul_(2.5)
        u, counts = torch.unique(torch.tensor([3, 1, 3, True]), return_counts=True)
        functional.interpolate(torch.rand(1, 1, 4, 4), scale_factor=2.0, mode="bilinear", align_corners=False)
        functional.embedding_bag(torch.arange(4), torch.rand(8, 2), torch.tensor([0, 2]), mode="max")
        torch.where(x > 0.1, x, torch.empty(()).fill_(float("nan"))).nan_to_num_(0.5).clamp_(min=0, max=None)
        return y + z.sum() + u.sum() + counts.sum()


JOBS = {job.__name__.lower(): job for job in (Perceptron, Transformer, Attention, Convolution, Recurrent, Adversarial, Accumulated,
                                              Inference, Scripted, Compiled, Distributed, Ranked, Oddities)}


def make(name, rank="0", path=""):
    Ranked.rank, Ranked.path = int(rank), path
    job = JOBS[name]()
    for _ in range(4):
        job.step()
    return job


def profiled(job, count, path):
    with torch.autograd.profiler.profile(record_shapes=True, profile_memory=True, with_flops=True) as profile:
        for _ in range(count):
            job.step()
    groups = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])._get_distributed_info()
    said = {"groups": groups, "flops": {row.key: row.flops for row in profile.key_averages() if row.flops}, "kineto": None}
    events = sorted((one for one in profile.function_events if not one.is_async), key=lambda one: one.id)
    said["events"] = [[one.name, one.input_shapes] for one in events if one.name != "[memory]"]
    if torch.autograd.kineto_available():
        profile.export_chrome_trace(path)
        with open(path) as trace:
            said["kineto"] = json.load(trace)["traceEvents"]
    with open(path, "w") as out:
        json.dump(said, out)


def timed(job, count, options):
    def turn():
        begin = time.thread_time_ns()
        for _ in range(count):
            job.step()
        return time.thread_time_ns() - begin

    if not options:
        return turn()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                **{option: True for option in options if option != "plain"}):
        return turn()


def main():
    job = None
    pact.say("ready")
    for words in pact.commands():
        answer = "yes"
        if words[0] == "job":
            try:
                job = make(*words[1:])
            except Exception as error:  # what this build of PyTorch leaves out
                answer = f"no {type(error).__name__}: {error}".replace("\n", " ")[:200]
        elif words[0] == "version":
            answer = torch.__version__
        elif words[0] == "steps":
            for _ in range(int(words[1])):
                job.step()
        elif words[0] == "timed":
            answer = timed(job, int(words[1]), words[2:])
        elif words[0] == "profiled":
            profiled(job, int(words[1]), words[2])
        pact.say("done", answer)
    print("ended well")


if __name__ == "__main__":
    main()

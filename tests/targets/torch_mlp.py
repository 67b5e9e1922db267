"""A perceptron trained with Adam, on PyTorch: `steps N` trains on the main thread, `threads N COUNT` on COUNT more at
the same time, `profiled N FILE`, `averages N FILE` and `timeline N FILE` on the main thread under the job's own
profiler, `observed N FILE` under its own observer of an execution trace, which `unobserved` removes, `forked N` in a
child; `cross` runs a forward pass, `crossed N` its backward on another thread; `child` makes one that goes on; `hold N`
and `drop` allocate and free N floats, `shared N` both, between processes; `crossing N` marks N ranges that end on
another thread; `again` begins anew, `parameters FILE` lists the parameters. Answers each with `done` and what the job
has to say; `result` says the sum of all weights, exactly, `version` that of PyTorch. Needs an interpreter with PyTorch."""
import concurrent.futures
import gzip
import json
import os
import threading
import time

import pact
import torch
from torch import nn

torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.fc2(self.act(self.fc1(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(32, 64)
        self.layers = nn.ModuleList([Block(64) for _ in range(4)])
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Training:
    def __init__(self):
        torch.manual_seed(0)
        self.model = Net()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.criterion = nn.CrossEntropyLoss()
        self.x, self.y = torch.randn(64, 32), torch.randint(0, 10, (64,))

    def steps(self, count):
        for _ in range(count):
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.criterion(self.model(self.x), self.y)
            loss.backward()
            self.optimizer.step()


def on_threads(count, many):
    threads = [threading.Thread(target=Training().steps, args=(count,)) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def profiled(training, count, path):
    """The profiler's own list of what ran, in the order in which it began, with the sizes of what it got."""
    with torch.autograd.profiler.profile(record_shapes=True) as profile:
        training.steps(count)
    events = sorted((one for one in profile.function_events if not one.is_async), key=lambda one: one.id)
    with open(path, "w") as out:
        json.dump([[one.name, one.input_shapes] for one in events], out)


def averages(training, count, path):
    """Calls, memory and own memory of each name, as the profiler adds them up."""
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        training.steps(count)
    rows = {row.key: [row.count, row.cpu_memory_usage, row.self_cpu_memory_usage] for row in profile.key_averages()}
    with open(path, "w") as out:
        json.dump(rows, out)


def timeline(training, count, path):
    """The profiler's own raw memory timeline."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True) as own:
        training.steps(count)
    own.export_memory_timeline(path + ".raw.json.gz", device="cpu")
    with gzip.open(path + ".raw.json.gz") as exported, open(path, "wb") as out:
        out.write(exported.read())
    os.unlink(path + ".raw.json.gz")


def observed(training, count, path):
    """PyTorch's execution trace, as it writes it."""
    from torch.profiler import ExecutionTraceObserver
    own = ExecutionTraceObserver().register_callback(path)
    own.start()
    training.steps(count)
    own.stop()
    own.unregister_callback()


class Crossed:
    """Its loss was computed on a thread that runs no operator meanwhile."""

    def __init__(self):
        self.model = Net()
        self.loss = self.model(torch.randn(8, 32)).sum()

    def backward(self, count):
        thread = threading.Thread(target=lambda: [self.loss.backward(retain_graph=True) for _ in range(count)])
        thread.start()
        thread.join()


def in_child(training, count):
    child = os.fork()
    if child == 0:
        with torch.no_grad():  # PyTorch runs no backward in a child
            for _ in range(count):
                training.model(training.x)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def child(training):
    """One that goes on until it is killed."""
    child = os.fork()
    while child == 0:
        with torch.no_grad():
            training.model(training.x)
        time.sleep(0.001)
    return child


def crossing(count):
    """Ranges that begin on this thread and end on another one, when what they wait for is there."""
    with concurrent.futures.ThreadPoolExecutor(1) as other:
        for _ in range(count):
            with torch.autograd.profiler.record_function("crossing") as mark:
                awaited = torch.futures.Future()
                mark._call_end_callbacks_on_future(awaited)
            torch.ones(2)
            other.submit(awaited.set_result, 1).result()


def main():
    training = Training()
    crossed = None
    held = []
    training.steps(3)
    pact.say("ready")
    for words in pact.commands():
        answer = 0
        if words[0] == "steps":
            training.steps(int(words[1]))
        elif words[0] == "threads":
            on_threads(int(words[1]), int(words[2]))
        elif words[0] == "profiled":
            profiled(training, int(words[1]), words[2])
        elif words[0] == "averages":
            averages(training, int(words[1]), words[2])
        elif words[0] == "timeline":
            timeline(training, int(words[1]), words[2])
        elif words[0] == "parameters":
            with open(words[1], "w") as out:
                json.dump([[name, str(one.dtype), list(one.shape), one.untyped_storage().data_ptr() if hasattr(one,
                            "untyped_storage") else one.storage().data_ptr()]
                           for name, one in training.model.named_parameters()], out)
        elif words[0] == "observed":
            observed(training, int(words[1]), words[2])
        elif words[0] == "unobserved":
            torch._C._profiler._remove_execution_trace_observer()
        elif words[0] == "cross":
            crossed = Crossed()
        elif words[0] == "crossed":
            crossed.backward(int(words[1]))
        elif words[0] == "hold":
            held.append(torch.empty(int(words[1])))
        elif words[0] == "drop":
            held.clear()
        elif words[0] == "shared":
            torch.empty(int(words[1])).share_memory_()
        elif words[0] == "crossing":
            crossing(int(words[1]))
        elif words[0] == "forked":
            answer = in_child(training, int(words[1]))
        elif words[0] == "again":
            training = Training()
        elif words[0] == "version":
            answer = torch.__version__
        elif words[0] == "child":
            answer = child(training)
        elif words[0] == "result":
            answer = sum(one.detach().double().sum().item() for one in training.model.parameters()).hex()
        pact.say("done", answer)
    print("ended well")


main()

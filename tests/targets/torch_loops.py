"""Training loops that count their steps in many ways, on PyTorch: `loop NAME` makes one and warms it up, `passes N` runs it.
Each pass calls `begin_pass` once. `schedules FILE` says in its place what each step does for each line of the file, which
holds the numbers of a schedule and as many words as there are steps. `version` says which PyTorch it is. Answers each with `done`; `loop` with `done no …`
where this PyTorch cannot. Needs an interpreter with PyTorch."""
import logging
import tempfile
import threading
import warnings

import pact
import torch
import torch_jobs
from torch import nn


def begin_pass():
    pass


class Loop:
    """A linear layer and its optimizer, or several."""

    def __init__(self):
        torch.manual_seed(0)
        self.models = [nn.Linear(4, 4) for _ in range(3)]
        self.optimizers = [torch.optim.Adam(model.parameters()) for model in self.models]
        self.batch = torch.rand(2, 4)
        self.passes = 0

    def backward(self, number=0):
        self.optimizers[number].zero_grad()
        loss = self.models[number](self.batch).square().mean()
        loss.backward()
        return loss

    def train(self, number=0):
        self.backward(number)
        self.optimizers[number].step()

    def one(self):
        self.train()

    def turn(self):
        begin_pass()
        self.passes += 1
        self.one()

    def turns(self, count):
        for _ in range(count):
            self.turn()


class Several(Loop):
    """Optimizers of one class."""

    def one(self):
        for number in range(3):
            self.train(number)


class Unequal(Loop):
    """A critic in each pass, a generator in each third."""

    def one(self):
        self.train(0)
        if self.passes % 3 == 0:
            self.train(1)


class Critic(Loop):
    """Three steps of the critic in each pass: as many steps as the critic's."""

    def one(self):
        for _ in range(3):
            self.train(0)
        self.train(1)


class Stopping(Loop):
    """The first optimizer alone, then the second alone, and so on."""

    def one(self):
        self.train(0 if self.passes % 6 < 3 else 1)


class Adversarial(torch_jobs.Adversarial):
    def turns(self, count):
        for _ in range(count):
            begin_pass()
            self.step()


class Accumulated(Loop):
    """Four backwards for a step."""

    def one(self):
        for _ in range(4):
            self.models[0](self.batch).square().mean().backward()
        self.optimizers[0].step()
        self.optimizers[0].zero_grad()


class Skipping(Loop):
    """As a GradScaler does where gradients are not finite."""

    def one(self):
        self.backward()
        if self.passes % 2 == 0:
            self.optimizers[0].step()


class Scaled(Loop):
    def __init__(self):
        super().__init__()
        self.scaler = torch.amp.GradScaler("cpu")

    def one(self):
        self.optimizers[0].zero_grad()
        self.scaler.scale(self.models[0](self.batch).square().mean()).backward()
        self.scaler.step(self.optimizers[0])
        self.scaler.update()


class Scheduled(Loop):
    """The scheduler wraps the optimizer's step."""

    def __init__(self):
        super().__init__()
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizers[0], 2)

    def one(self):
        self.train()
        self.scheduler.step()


class Wrapper(torch.optim.Optimizer):
    """Steps another optimizer. As `accelerate` makes its own, without the constructor of its class."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def zero_grad(self, *args, **kwargs):
        self.optimizer.zero_grad(*args, **kwargs)

    def step(self, closure=None):
        return self.optimizer.step(closure)


class HookedWrapper(torch.optim.Optimizer):
    """The same, with it: PyTorch reports both steps."""

    def __init__(self, optimizer):
        super().__init__(optimizer.param_groups, {})
        self.optimizer = optimizer

    def step(self, closure=None):
        return self.optimizer.step(closure)


class Wrapped(Loop):
    wrapper = Wrapper

    def __init__(self):
        super().__init__()
        self.optimizers = [self.wrapper(one) for one in self.optimizers]


class Hooked(Wrapped):
    wrapper = HookedWrapper


class Closure(Loop):
    """The step calls forward and backward, as Lightning does it."""

    def one(self):
        self.optimizers[0].step(self.backward)


class LineSearch(Closure):
    """Some calls of the closure for a step."""

    def __init__(self):
        super().__init__()
        self.optimizers = [torch.optim.LBFGS(self.models[0].parameters(), max_iter=3)]


class PerParameter(Loop):
    """An optimizer for each parameter, stepped within backward."""

    def __init__(self):
        super().__init__()
        self.each = {parameter: torch.optim.SGD([parameter], lr=0.01) for parameter in self.models[0].parameters()}
        for parameter in self.each:
            parameter.register_post_accumulate_grad_hook(self.update)

    def update(self, parameter):
        self.each[parameter].step()
        self.each[parameter].zero_grad()

    def one(self):
        self.models[0](self.batch).square().mean().backward()


class CompiledStep(Loop):
    """Without a compiler of C++: the graph runs as it is."""

    def __init__(self):
        super().__init__()
        self.compiled = torch.compile(self.optimizers[0].step, backend="aot_eager")

    def one(self):
        self.backward()
        self.compiled()


class CompiledAround(CompiledStep):
    """As PyTorch's manual compiles an optimizer."""

    def __init__(self):
        super().__init__()

        @torch.compile(backend="aot_eager", fullgraph=False)
        def step_around():
            self.optimizers[0].step()
        self.compiled = step_around


class Parts(Loop):
    """As DeepSpeed: one optimizer, stepped for each part of the parameters. Only the file and the qualified name matter."""
    ENGINE = """
class DeepSpeedEngine:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def _take_model_step(self):
        for _ in range(3):
            self.optimizer.step()
"""

    def __init__(self):
        super().__init__()
        names = {}
        exec(compile(self.ENGINE, "/srv/site-packages/deepspeed/runtime/engine.py", "exec"), names)
        self.engine = names["DeepSpeedEngine"](self.optimizers[0])

    def one(self):
        self.backward()
        self.engine._take_model_step()


class Beside(Loop):
    """Another thread trains a third as often."""

    def one(self):
        self.train()
        if self.passes % 3 == 0:
            thread = threading.Thread(target=self.train, args=(1,))
            thread.start()
            thread.join()


class Pooled(Loop):
    """Each pass is on another thread."""

    def one(self):
        thread = threading.Thread(target=self.train)
        thread.start()
        thread.join()


class Inference(Loop):
    """No steps: a function of its own is called for each request."""

    def one(self):
        with torch.no_grad():
            self.generate(2)
            try:
                self.fail()
            except ValueError:
                pass

    def fail(self):
        raise ValueError

    def generate(self, depth):
        self.models[0](self.batch)
        if depth > 0:
            self.generate(depth - 1)


class Lightning(Loop):
    """Its trainer has the loop, and makes the optimizers anew for each fit."""
    def module(self):
        import pytorch_lightning as lightning

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

            def training_step(self, batch, _):
                begin_pass()
                return self.layers[0](batch).square().mean()

            def configure_optimizers(self):
                return torch.optim.Adam(self.parameters())
        return Module()

    def turns(self, count):
        import pytorch_lightning as lightning
        trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False, enable_model_summary=False)
        trainer.fit(self.module(), torch.utils.data.DataLoader(torch.rand(count, 4)))


class LightningAdversarial(Lightning):
    """Two optimizers, which the module steps itself."""

    def module(self):
        import pytorch_lightning as lightning

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
                self.automatic_optimization = False

            def training_step(self, batch, _):
                begin_pass()
                for layer, optimizer in zip(self.layers, self.optimizers()):
                    optimizer.zero_grad()
                    self.manual_backward(layer(batch).square().mean())
                    optimizer.step()

            def configure_optimizers(self):
                return [torch.optim.Adam(layer.parameters()) for layer in self.layers]
        return Module()


class Transformers(Loop):
    """The trainer of that package has the loop: two backwards for a step, on its own wrapper of the optimizer."""

    def turns(self, count):
        import transformers

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)
                self.calls = 0

            def forward(self, x):
                if self.calls % 2 == 0:
                    begin_pass()
                self.calls += 1
                return {"loss": self.layer(x).square().mean()}

        with tempfile.TemporaryDirectory() as folder:
            arguments = transformers.TrainingArguments(
                output_dir=folder, max_steps=count, per_device_train_batch_size=2, gradient_accumulation_steps=2,
                use_cpu=True, report_to=[], save_strategy="no", disable_tqdm=True, logging_strategy="no")
            data = [{"x": torch.rand(4)} for _ in range(4 * count)]
            transformers.Trainer(model=Model(), args=arguments, train_dataset=data).train()


class Accelerated(Loop):
    """With the wrapper of `accelerate` around the optimizer."""

    def __init__(self):
        super().__init__()
        import accelerate
        self.accelerator = accelerate.Accelerator(cpu=True)
        self.models[0], self.optimizers[0] = self.accelerator.prepare(self.models[0], self.optimizers[0])

    def one(self):
        self.optimizers[0].zero_grad()
        self.accelerator.backward(self.models[0](self.batch).square().mean())
        self.optimizers[0].step()


LOOPS = {loop.__name__.lower(): loop for loop in (Loop, Several, Unequal, Critic, Stopping, Adversarial, Accumulated, Skipping,
         Scaled, Scheduled, Wrapped, Hooked, Closure, LineSearch, PerParameter, CompiledStep, CompiledAround, Parts, Beside, Pooled,
         Inference, Lightning, LightningAdversarial, Transformers, Accelerated)}


def make(name):
    loop = LOOPS[name]()
    loop.turns(4)
    loop.passes = 0
    return loop


def schedules(path):
    """Those whose last number is not 0 only where PyTorch knows it."""
    lines = []
    with open(path) as asked:
        for line in asked:
            skip_first, wait, warmup, active, repeat, skip_first_wait, *steps = line.split()
            numbers = {"skip_first": skip_first, "wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
            if skip_first_wait != "0":
                numbers["skip_first_wait"] = skip_first_wait
            try:
                schedule = torch.profiler.schedule(**{name: int(number) for name, number in numbers.items()})
            except TypeError:
                continue
            lines.append(line.split()[:6] + [schedule(step).name for step in range(len(steps))])
    with open(path, "w") as out:
        out.writelines(" ".join(line) + "\n" for line in lines)
    return len(lines)


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    loop = None
    pact.say("ready")
    for words in pact.commands():
        answer = "yes"
        if words[0] == "loop":
            try:
                loop = make(words[1])
            except Exception as error:  # what this build of PyTorch leaves out
                answer = f"no {type(error).__name__}: {error}".replace("\n", " ")[:200]
        elif words[0] == "version":
            answer = torch.__version__
        elif words[0] == "schedules":
            answer = schedules(words[1])
        elif words[0] == "passes":
            loop.turns(int(words[1]))
        pact.say("done", answer)
    print("ended well")


if __name__ == "__main__":
    main()

"""Holds objects that can be called, and prints where each is and the name it should get: KIND FIRST SECOND NAME."""
import collections
import ctypes
import functools
import sys
import time
import types

HEADER = object.__basicsize__  # of every object: the first field comes after it
OUT, KEEP = [], []


def word(thing, number):
    return ctypes.c_size_t.from_address(id(thing) + HEADER + 8 * number).value


def code(function, name):
    OUT.append("code %d 0 %s" % (id(function.__code__), name))


def called(thing, method, name):
    KEEP.append(thing)
    OUT.append("call %d %d %s" % (id(thing), method, name))


class Module:
    """Keeps its objects as torch.nn.Module does."""

    def __init__(self, **modules):
        self.training, self._parameters, self._modules = True, {}, collections.OrderedDict(modules)

    def forward(self):
        def inner():
            pass
        return inner


class Linear(Module):
    pass


class Net(Module):
    pass


class Slots:
    def method(self):
        pass


class Meta(type):
    pass


class Made(metaclass=Meta):
    pass


qualified = sys.version_info >= (3, 11)
code(word, "word")
code(Slots.method, "Slots.method" if qualified else "method")
code(Module.forward, "Module.forward" if qualified else "forward")
for function, name in ((len, "len"), (time.sleep, "time.sleep"), ([].append, "append"), (dict.fromkeys, "fromkeys"),
                       (sys.intern, "sys.intern")):
    called(function, word(function, 0), name)
for other, name in ((KeyError, "KeyError"), (Slots, "Slots"), (functools.partial(len), "-"), (word, "-"),
                    (Made, "Made"), (Slots().method, "-"), (functools.partial, "functools.partial")):
    called(other, 0, name)
attention = Module(query=Linear(), key=Linear())
layers = Module(**{"0": attention, "1": Linear()})
net = Net(layers=layers, head=Linear(), again=attention)
alone = Linear()
KEEP += [net, alone]
for module, name in ((net, "Net_0"), (layers, "Module_0 (layers)"), (layers._modules["1"], "Linear_0 (layers.1)"),
                     (attention._modules["key"], "Linear_1 (%s)"), (net._modules["head"], "Linear_2 (head)"),
                     (alone, "Linear_3")):
    OUT.append("module 0 %d nn.Module: %s" % (id(module), name))
inside = Linear()
holder = Net(part=inside)
KEEP.append(holder)
for module, name in ((inside, "Linear_4"), (holder, "Net_1"), (inside, "Linear_4 (part)")):
    OUT.append("module 0 %d nn.Module: %s" % (id(module), name))
torch = types.ModuleType("torch.nn.modules.module")  # as PyTorch calls modules
exec("class Module:\n def _wrapped_call_impl(self): 0\n __call__ = _wrapped_call_impl", torch.__dict__)
optim = types.ModuleType("torch.optim.optimizer")
exec("class Optimizer:\n def _optimizer_step_code(self): 0", optim.__dict__)
sys.modules.update({torch.__name__: torch, optim.__name__: optim})
OUT.append("known_methods %d %d -" % (id(torch.Module.__call__.__code__), id(optim.Optimizer._optimizer_step_code.__code__)))
print("ready", len(OUT))
print("\n".join(OUT))
sys.stdout.flush()
time.sleep(1000)

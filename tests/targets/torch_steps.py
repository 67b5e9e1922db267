"""A real training loop on PyTorch: a small module, an optimizer, and nothing else. Needs an interpreter with it."""
import select

import pact
import torch

torch.set_num_threads(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, batch):
        return self.layer(batch)


def train_step(net, optimizer, batch):
    optimizer.zero_grad()
    net(batch).sum().backward()
    optimizer.step()


def main():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    batch = torch.ones(2, 4)
    train_step(net, optimizer, batch)
    pact.say("ready")
    while not select.select([pact.descriptor()], [], [], 0.001)[0]:
        train_step(net, optimizer, batch)
    print("ended well")


main()

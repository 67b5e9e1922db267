#!/usr/bin/env python3
"""A real training job, small enough to start in seconds: a character-level transformer on PyTorch, on the CPU or on a
GPU.

The text that it learns is a module of Python's own library. The data comes through a DataLoader with worker processes,
and every step does what larger jobs do: collate, forward, loss, backward, clip, optimizer step, sometimes an evaluation
and a checkpoint. Prints "ready PID" once it is training; ends after --seconds, on SIGTERM, or never.

    python3 train_transformer.py [--seconds N] [--workers N] [--device cuda] [--ready-fd FD]
"""
import argparse
import io
import math
import os
import pathlib
import signal
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CONTEXT = 32


def corpus():
    """Some text that every Python has: a module of its own library."""
    return pathlib.Path(argparse.__file__).read_text()


class Windows(Dataset):
    """Windows of the text, encoded in Python on purpose, because the data loaders of real jobs do that all day."""

    def __init__(self, text):
        self.vocabulary = sorted(set(text))
        self._index = {letter: number for number, letter in enumerate(self.vocabulary)}
        self._text = text

    def __len__(self):
        return len(self._text) - CONTEXT - 1

    def _encode(self, piece):
        return torch.tensor([self._index[letter] for letter in piece])

    def __getitem__(self, position):
        return (self._encode(self._text[position:position + CONTEXT]),
                self._encode(self._text[position + 1:position + CONTEXT + 1]))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.triu(torch.full((CONTEXT, CONTEXT), -math.inf), diagonal=1))

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = self.project(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        weights = torch.softmax(scores + self.mask[:length, :length], dim=-1)
        return self.out((weights @ value).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, vocabulary, width=48, heads=4, depth=2):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x):
        x = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Trainer:
    def __init__(self, model, loader, device="cpu"):
        self.model, self.loader, self.device = model.to(device), loader, device
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
        self.step_number = 0

    def loss(self, inputs, targets):
        logits = self.model(inputs)
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def train_step(self, inputs, targets):
        self.optimizer.zero_grad()
        loss = self.loss(inputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.step_number += 1
        return loss.item()

    @torch.no_grad()
    def evaluate(self, inputs, targets):
        self.model.eval()
        loss = self.loss(inputs, targets).item()
        self.model.train()
        return loss

    def save_checkpoint(self):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, io.BytesIO())

    def epochs(self):
        """Trains for ever; yields the loss of every step."""
        while True:
            for batch in self.loader:
                inputs, targets = (tensor.to(self.device) for tensor in batch)
                loss = self.train_step(inputs, targets)
                if self.step_number % 25 == 0:
                    self.evaluate(inputs, targets)
                if self.step_number % 100 == 0:
                    self.save_checkpoint()
                yield loss


def announce(ready_fd):
    print(f"ready {os.getpid()}", flush=True)
    if ready_fd is not None:
        os.write(ready_fd, b"ready\n")
        os.close(ready_fd)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--ready-fd", type=int, default=None)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    torch.manual_seed(1)
    torch.set_num_threads(1)
    dataset = Windows(corpus())
    loader = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=arguments.workers,
                        persistent_workers=arguments.workers > 0)
    trainer = Trainer(Transformer(len(dataset.vocabulary)), loader, arguments.device)
    deadline = time.monotonic() + arguments.seconds
    for loss in trainer.epochs():
        if trainer.step_number == 1:
            announce(arguments.ready_fd)
        if trainer.step_number % 100 == 0:
            print(f"step {trainer.step_number} loss {loss:.3f}", flush=True)
        if time.monotonic() >= deadline:
            return


if __name__ == "__main__":
    main()

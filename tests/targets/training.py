"""Trains the demo's model (PP_DEMO: its folder) with DataLoader workers that are forked anew for every epoch.

argv: how many steps, or 0: until a word comes. Answers "ping" with "pong" after a step. Prints what it learnt, which is
the same for the same number of steps.
"""
import hashlib
import os
import select
import sys
import warnings

sys.path.insert(0, os.environ["PP_DEMO"])
import torch  # noqa: E402
import train_transformer as script  # noqa: E402
from torch.utils.data import DataLoader, Subset  # noqa: E402

import pact  # noqa: E402

WORKERS, BATCHES = 8, 24  # of an epoch


def goes_on(steps, limit):
    if limit:
        return steps < limit
    while select.select([pact.descriptor()], [], [], 0)[0]:
        if pact.hear() != "ping":
            return False
        pact.say("pong")
    return True


def main():
    limit = int(sys.argv[1])
    torch.manual_seed(1)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="This DataLoader will create 8 worker processes")
    windows = script.Windows(script.corpus())
    loader = DataLoader(Subset(windows, range(8 * BATCHES)), batch_size=8, shuffle=True, num_workers=WORKERS,
                        multiprocessing_context="fork")
    trainer = script.Trainer(script.Transformer(len(windows.vocabulary)), loader)
    losses, steps = hashlib.sha256(), 0
    while True:
        for inputs, targets in loader:
            if steps == 0:
                pact.say("ready")  # not before: the loader sets up a signal handler with its first workers
            if not goes_on(steps, limit):
                print(steps, losses.hexdigest())
                return
            losses.update(repr(trainer.train_step(inputs, targets)).encode())
            steps += 1


main()

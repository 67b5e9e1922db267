"""A job on the doubles of CUDA whose launches come from where stacks are hard to take: deep recursion, threads that end
at once, code that is made for one call and freed, generators. Runs until "finish"; options: --truth FILE, --version V.

Answers "ping" with "pong ROUNDS" once another round is over.
"""
import argparse
import json
import threading
import time

import pact
from cuda_libraries import Cuda

DEPTHS = (1, 40, 300, 600)
FRESH = "def {name}(job, site):\n{padding}    job.cuda.launch(site, job.kernel, job.stream)\n"


class Job:
    def __init__(self, cuda):
        self.cuda, self.site = cuda, {name: cuda.site(name) for name in (
            "prepare", "deep", "short_lived", "steps_of_generator", "copies", "replay")}
        self.kernel = cuda.kernel("_Z9some_workv", 1000)
        self.rounds = 0
        self.prepare()

    def prepare(self):
        self.stream = self.cuda.stream(self.site["prepare"])
        self.cuda.begin_capture(self.site["prepare"], self.stream)
        self.cuda.launch(self.site["prepare"], self.kernel, self.stream)
        self.graph = self.cuda.end_capture(self.site["prepare"], self.stream)

    def deep(self, depth):
        if depth > 1:
            return self.deep(depth - 1)
        return self.cuda.launch(self.site["deep"], self.kernel, self.stream)

    def short_lived(self):
        self.cuda.launch(self.site["short_lived"], self.kernel, self.stream)

    def steps_of_generator(self):
        for _ in range(3):
            yield self.cuda.launch(self.site["steps_of_generator"], self.kernel, self.stream)

    def copies(self):
        self.cuda.copy(self.site["copies"], 64, 1, self.stream)
        self.cuda.fill(self.site["copies"], 64, self.stream)

    def replay(self):
        self.cuda.replay(self.site["replay"], self.graph, self.stream)

    def fresh(self):
        """Code of another name and length each time, often at the address of the last one."""
        name = "fresh_%d" % self.rounds
        names = {}
        exec(FRESH.format(name=name, padding="    job.rounds\n" * (self.rounds % 3)), names)
        names[name](self, self.cuda.site(name))

    def round(self):
        for depth in DEPTHS:
            self.deep(depth)
        threads = [threading.Thread(target=self.short_lived) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for _ in self.steps_of_generator():
            pass
        self.copies()
        self.replay()
        self.fresh()
        self.rounds += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", default="130001")
    parser.add_argument("--truth")
    options = parser.parse_args()
    cuda, done = Cuda(options.version), threading.Event()
    job = Job(cuda)

    def work():
        while not done.is_set():
            job.round()
            time.sleep(0.15)  # few enough a second that all of their stacks are taken

    worker = threading.Thread(target=work)
    worker.start()
    pact.say("ready")
    while pact.hear() == "ping":
        before = job.rounds
        while job.rounds <= before + 1:
            time.sleep(0.001)
        pact.say("pong", job.rounds)
    done.set()
    worker.join()
    if options.truth:
        with open(options.truth, "w") as file:
            file.write(json.dumps({**cuda.truth(), "misuse": cuda.misuse()}))


if __name__ == "__main__":
    main()

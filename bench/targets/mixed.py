"""An ordinary program, for the size of traces: JSON, sorting, generators, regular expressions, text, waiting threads.

PP_COUNTER_FD and PP_READY_FD as in calls.py.
"""
import heapq
import json
import mmap
import os
import re
import struct
import threading
import time

counters = mmap.mmap(int(os.environ["PP_COUNTER_FD"]), 4096)
WORD = re.compile(r"[a-z]+(\d+)")


class Order:
    def __init__(self, number):
        self.number = number
        self.lines = [{"item": f"item{n}", "price": n * 7 % 13} for n in range(number % 9 + 1)]

    @property
    def total(self):
        return sum(line["price"] for line in self.lines)

    def as_text(self):
        return json.dumps({"number": self.number, "lines": self.lines, "total": self.total})


def orders(count):
    for number in range(count):
        yield Order(number)


def numbers_in(text):
    return [int(match.group(1)) for match in WORD.finditer(text)]


def by_total(order):
    return order.total


def report(batch):
    ranked = sorted(batch, key=by_total)
    best = heapq.nlargest(5, ranked, key=lambda order: order.number)
    return {order.number: numbers_in(order.as_text()) for order in best}


def parse(texts):
    return [json.loads(text) for text in texts]


def wait_for_ever(event):
    event.wait()


def main():
    done = 0
    while True:
        batch = list(orders(200))
        parse([order.as_text() for order in batch])
        report(batch)
        done += 1
        struct.pack_into("QQ", counters, 0, done, time.thread_time_ns())


for _ in range(3):
    threading.Thread(target=wait_for_ever, args=(threading.Event(),), daemon=True).start()
os.write(int(os.environ["PP_READY_FD"]), b"r")
main()

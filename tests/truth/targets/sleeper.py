"""10 ms of work and 10 ms of sleep in turns. The test keeps the machine busy meanwhile."""
import time

from own_time import serve


def spin(until):
    while time.perf_counter() < until:
        total = 0
        for number in range(200):
            total += number


def work(times):
    for _ in range(times):
        spin(time.perf_counter() + 0.010)


def sleep(times):
    for _ in range(times):
        time.sleep(0.010)


serve([work, sleep])

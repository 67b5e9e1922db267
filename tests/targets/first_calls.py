"""Makes 1,000 calls of `first` before all else, then calls of `rest` until a line, or the end of its input, comes."""
import select
import sys


def first(number):
    return number


for i in range(1000):
    first(i)


def rest():
    return select.select([sys.stdin], [], [], 0.001)[0]


while not rest():
    pass

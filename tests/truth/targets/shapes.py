"""Generators, recursion 5 and 200 deep, exceptions, comprehensions and lambdas, methods and closures."""
from own_time import serve


def squares(limit):
    for number in range(limit):
        yield number * number


def evens(numbers):
    for number in numbers:
        if number % 2 == 0:
            yield number


def generators(times):
    for _ in range(times):
        sum(evens(squares(60)))
        for number in evens(squares(20)):
            pass


def descend(depth):
    if depth == 0:
        return 0
    total = 0
    for number in range(5):
        total += number
    return descend(depth - 1) + total


def shallow(times):
    for _ in range(times):
        descend(5)
        descend(3)
        descend(5)


def deeper(depth):
    return deeper(depth - 1) + 1 if depth else bottom(300)


def bottom(amount):
    total = 0
    for number in range(amount):
        total += number
    return total


def deep(times):
    for _ in range(times):
        deeper(200)


class Refused(Exception):
    pass


def refuse(number):
    if number % 3 == 0:
        raise Refused(number)
    return number


def attempt(number):
    try:
        return refuse(number)
    finally:
        number += 1


def exceptions(times):
    for _ in range(times):
        for number in range(6):
            try:
                attempt(number)
            except Refused:
                pass


def comprehensions(times):
    for _ in range(times):
        rows = [[column * row for column in range(8)] for row in range(4)]
        {number: len(row) for number, row in enumerate(rows)}
        sorted(rows, key=lambda row: -row[2])
        any(value > 50 for row in rows for value in row)


class Account:
    def __init__(self, amount):
        self.amount = amount

    @property
    def doubled(self):
        return self.amount * 2

    def add(self, amount):
        self.amount += amount
        return self.doubled


def adder(amount):
    def add(number):
        return number + amount
    return add


def methods(times):
    add_three = adder(3)
    for number in range(times):
        account = Account(number)
        account.add(3)
        add_three(account.doubled)
        list(map(add_three, (1, 2, 3)))


serve([generators, shallow, deep, exceptions, comprehensions, methods])

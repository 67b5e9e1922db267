"""Every way in which calls begin, end, stop and go on, as small functions: ROOTS, each run for itself.

They leave nothing suspended behind, and do the same each time. Two roots run in threads of their own.
"""
import contextlib
import functools
import sys
import threading

import stub_corpus


def leaf(number=1):
    return number


def fails(number=1):
    raise ValueError(number)


def counting(limit):
    received = []
    for number in range(limit):
        received.append((yield number))
    return received


def delegating(limit):
    result = yield from counting(limit)
    yield len(result)


def guarding():
    try:
        yield 1
        yield 2
    except KeyError:
        yield leaf(3)
    finally:
        leaf(4)


def through(generator):
    yield from generator


def sends_through():
    generator = delegating(2)
    next(generator)
    generator.send("one")
    list(generator)


def throws_through_a_delegate():
    generator = through(guarding())
    next(generator)
    generator.throw(KeyError())
    for _ in generator:
        leaf()


def closes_a_delegate():
    generator = through(guarding())
    next(generator)
    generator.close()


def closes_before_it_began():
    guarding().close()


def abandons():
    things = [guarding()]  # not itself a local, because a recorder may hold those
    next(things[0])
    things.clear()
    leaf()


def interleaves():
    pairs = [counting(2), counting(2)]
    for generator in pairs + pairs:
        next(generator)
        leaf()
    for generator in pairs:
        list(generator)


def comprehends():
    squares = [leaf(number) for number in range(3)]
    pairs = {number: leaf(number) for number in {leaf(number) for number in squares}}
    return sum(leaf(number) for number in pairs), [[leaf(x) for x in range(y)] for y in range(3)]


class Ticks:
    def __init__(self, number):
        self.number = number

    def __await__(self):
        for _ in range(self.number):
            yield leaf()


async def waits(number):
    await Ticks(number)
    return leaf(number)


async def streams():
    try:
        for number in range(3):
            await Ticks(1)
            yield number
    finally:
        await Ticks(1)


async def reads_streams():
    async for _ in streams():
        await waits(1)
    stream = streams()
    await stream.__anext__()
    await stream.aclose()
    stream = streams()
    await stream.__anext__()
    try:
        await stream.athrow(KeyError())
    except KeyError:
        leaf()
    return [number async for number in streams()]


def runs_coroutines():
    stub_corpus.drive(waits(3))
    stub_corpus.drive(reads_streams())
    coroutine = waits(3)
    coroutine.send(None)
    coroutine.close()


def falls(depth):
    if depth == 0:
        fails()
    try:
        falls(depth - 1)
    finally:
        leaf()


def falls_far():
    try:
        falls(60)
    except ValueError:
        return leaf()


def falls_in_handlers():
    for wrong in (fails, leaf):
        try:
            try:
                wrong()
            except ValueError as error:
                raise KeyError from error
            else:
                leaf()
            finally:
                fails()
        except ValueError:
            leaf()


def raises_in_c():
    for argument in ("x", "1"):
        try:
            sorted([2, 1], key=lambda number: int(argument))
            [].pop()
        except (ValueError, IndexError):
            leaf()
    return list(map(leaf, range(3))), next(filter(leaf, range(3)))


@contextlib.contextmanager
def managed():
    try:
        yield leaf()
    except ValueError:
        leaf()


def manages():
    with managed():
        leaf()
    with managed():
        fails()


class Meta(type):
    def __call__(cls, *arguments):
        return super().__call__(*arguments)


class Odd(metaclass=Meta):
    def __init__(self):
        leaf()

    def __getattr__(self, name):
        return leaf(name)

    def __del__(self):
        leaf()

    @property
    def twice(self):
        return self.missing, self.other


TEXT = compile("def made():\n  return leaf()\nmade()", "<text>", "exec")  # kept: freed code has no name


def uses_objects():
    things = [Odd()]
    things[0].twice
    functools.partial(leaf, 3)()
    (lambda: leaf())()

    class Local:
        value = leaf()
    exec(TEXT, {"leaf": leaf})
    things.clear()
    return Local


def recurs_deeply():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20000)
    try:
        stub_corpus.countdown(1500)
    finally:
        sys.setrecursionlimit(limit)


def in_a_thread():
    list(delegating(3))
    try:
        falls(9)
    except ValueError:
        leaf()


def goes_on_elsewhere(generator):
    for _ in generator:
        leaf()


def ends_threads():
    threads = [threading.Thread(target=in_a_thread)]
    generator = counting(4)
    next(generator)
    threads.append(threading.Thread(target=goes_on_elsewhere, args=(generator,)))
    for thread in threads:
        thread.start()
        thread.join()


# Functions whose calls are compared; those at the end begin in a thread of their own.
ROOTS = (*(function for function, _ in stub_corpus.SCENARIOS if function is not stub_corpus.nothing), sends_through,
         throws_through_a_delegate, closes_a_delegate, closes_before_it_began, abandons, interleaves, comprehends,
         runs_coroutines, falls_far, falls_in_handlers, raises_in_c, manages, uses_objects, recurs_deeply)
IN_THREADS = (in_a_thread, goes_on_elsewhere)


def all_of_them():
    for root in ROOTS:
        root()
    ends_threads()

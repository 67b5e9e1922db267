"""Small programs with the events that each must give, written by hand, for the tests of the tracer stub.

SCENARIOS: (function, expected events "TAG name" of the functions in this file). A THROW is a RESUME (or, before the
first instruction, a START) where the interpreter does not report more: up to 3.10.
"""
import sys

VERSION = sys.version_info[:2]
THROWN = "THROW" if VERSION >= (3, 11) else "RESUME"
THROWN_FRESH = "THROW" if VERSION >= (3, 11) else "START"


def leaf():
    return 1


def middle():
    leaf()
    leaf()


def calls():
    middle()


def countdown(depth):
    return countdown(depth - 1) if depth else 0


def recursion():
    countdown(3)


def numbers():
    yield 1
    yield 2


def sums():
    return sum(numbers())


def delegate():
    yield from numbers()


def delegates():
    return list(delegate())


def guarded():
    try:
        yield 1
    except KeyError:
        yield 2


def throws():
    generator = guarded()
    next(generator)
    generator.throw(KeyError())
    for _ in generator:
        pass


def throws_through():
    generator = numbers()
    next(generator)
    try:
        generator.throw(KeyError())
    except KeyError:
        pass


def throws_first():
    try:
        numbers().throw(KeyError())
    except KeyError:
        pass


def cleans():
    try:
        yield 1
    finally:
        leaf()


def closes():
    generator = cleans()
    next(generator)
    generator.close()


def raises():
    raise ValueError


def passes():
    raises()


def catches():
    try:
        passes()
    except ValueError:
        pass


class Pause:
    def __await__(self):
        yield 1


async def inner():
    await Pause()
    return 3


async def outer():
    return await inner()


def drive(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


def coroutines():
    drive(outer())


async def produces():
    yield 1
    await Pause()
    yield 2


async def consumes():
    async for _ in produces():
        pass


def asynchronous():
    drive(consumes())


class Thing:
    def __init__(self):
        leaf()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return True

    @property
    def attribute(self):
        return leaf()


def objects():
    with Thing() as thing:
        thing.attribute
        raises()


def by_key(number):
    return -number


def calls_back():
    return sorted([1, 2], key=by_key)


def nothing():
    pass


def _of(text):
    return [event.strip() for event in text.replace("\n", ",").split(",") if event.strip()]


_NUMBERS_TO_END = "START numbers, YIELD numbers, RESUME numbers, YIELD numbers, RESUME numbers, RETURN numbers"
SCENARIOS = (
    (nothing, _of("START nothing, RETURN nothing")),
    (calls, _of("START calls, START middle, START leaf, RETURN leaf, START leaf, RETURN leaf, RETURN middle, RETURN calls")),
    (recursion, _of("START recursion" + ", START countdown" * 4 + ", RETURN countdown" * 4 + ", RETURN recursion")),
    (sums, _of(f"START sums, {_NUMBERS_TO_END}, RETURN sums")),
    (delegates, _of("""
        START delegates, START delegate, START numbers, YIELD numbers, YIELD delegate
        RESUME delegate, RESUME numbers, YIELD numbers, YIELD delegate
        RESUME delegate, RESUME numbers, RETURN numbers, RETURN delegate, RETURN delegates""")),
    (throws, _of(f"""
        START throws, START guarded, YIELD guarded, {THROWN} guarded, YIELD guarded
        RESUME guarded, RETURN guarded, RETURN throws""")),
    (throws_through, _of(f"""
        START throws_through, START numbers, YIELD numbers, {THROWN} numbers, UNWIND numbers, RETURN throws_through""")),
    (throws_first, _of(f"START throws_first, {THROWN_FRESH} numbers, UNWIND numbers, RETURN throws_first")),
    (closes, _of(f"""
        START closes, START cleans, YIELD cleans, {THROWN} cleans, START leaf, RETURN leaf, UNWIND cleans, RETURN closes""")),
    (catches, _of("""
        START catches, START passes, START raises, UNWIND raises, UNWIND passes, RETURN catches""")),
    (coroutines, _of("""
        START coroutines, START drive
        START outer, START inner, START __await__, YIELD __await__, YIELD inner, YIELD outer
        RESUME outer, RESUME inner, RESUME __await__, RETURN __await__, RETURN inner, RETURN outer
        RETURN drive, RETURN coroutines""")),
    (asynchronous, _of("""
        START asynchronous, START drive, START consumes, START produces, YIELD produces
        RESUME produces, START __await__, YIELD __await__, YIELD produces, YIELD consumes
        RESUME consumes, RESUME produces, RESUME __await__, RETURN __await__, YIELD produces
        RESUME produces, RETURN produces, RETURN consumes, RETURN drive, RETURN asynchronous""")),
    (objects, _of("""
        START objects, START __init__, START leaf, RETURN leaf, RETURN __init__, START __enter__, RETURN __enter__
        START attribute, START leaf, RETURN leaf, RETURN attribute, START raises, UNWIND raises
        START __exit__, RETURN __exit__, RETURN objects""")),
    (calls_back, _of("START calls_back, START by_key, RETURN by_key, START by_key, RETURN by_key, RETURN calls_back")),
)


def _codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from _codes(constant)


def names():
    """{address of a code object: its name}, for the functions of this file."""
    found = {}
    for value in list(globals().values()) + [vars(Thing)[name] for name in vars(Thing)] + [Pause.__await__]:
        value = getattr(value, "fget", value)
        if getattr(value, "__module__", None) == __name__ and hasattr(value, "__code__"):
            found.update((id(code), code.co_name) for code in _codes(value.__code__))
    return found

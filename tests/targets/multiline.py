"""Waits below calls whose arguments span lines, in every shape that line tables have trouble with.

The test compares each frame with faulthandler's output, so nothing here depends on a line number. Each shape runs in a
thread of its own and ends in wait().
"""
import contextlib
import faulthandler
import json
import os
import re
import sys
import tempfile
import threading
import types
import pact

release, finger = os.pipe()


def wait(*_, **__):
    os.read(release, 1)  # the whole body: a thread in this function stays on this line
    return 0


def identity(value, *_, **__):
    return value


def arguments_span_lines():
    return identity(
        1,
        identity(
            2,
            wait(
                3,
                4,
            ),
        ),
    )


def call_below_its_name():
    return identity(
        identity
    )(
        identity
    )(
        wait(

            1,
            2,

        )
    )


def keyword_arguments():
    return identity(
        value=identity(
            wait(
                a=1,
                b=2),
            key=identity(
                5)))


def comprehension():
    return [
        wait(
            number
        )
        for number in (
            1,
        )
    ]


def nested_comprehension():
    return {
        outer: [
            wait(inner,
                 outer)
            for inner in range(
                2)
        ]
        for outer in range(1)
    }


def generator_expression():
    return sum(
        wait(
            number)
        for number
        in range(3)
    )


def lambda_on_lines():
    return (lambda x:
            identity(
                wait(
                    x)))(
        1
    )


def conditional():
    return (
        identity(1)
        if not identity(
            True
        )
        else wait(
            1,
        )
    )


def chained_comparison():
    return (
        1
        < identity(2)
        < (3 +
           wait())
        < 5
    )


def binary_operation():
    return (identity(1)
            + identity(2)
            + wait()
            + identity(3))


def dictionary_display():
    return {
        "a": identity(1),
        "b": wait(
            2),
        "c": identity(3),
    }


def f_string():
    return f"{identity(1)}" \
           f"{wait()}" \
           f"{identity(2)}"


def with_statement():
    @contextlib.contextmanager
    def manager(value):
        yield value

    with manager(
        1
    ) as first, manager(
        wait(
            2)
    ):
        return first


class WaitsOnExit:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        wait()


def leaves_with():
    with WaitsOnExit(
    ):
        identity(1)
        identity(2)


def in_except():
    try:
        identity(
            {}[
                "no such key"])
    except KeyError:
        wait(
        )


def in_finally():
    try:
        identity(1)
    finally:
        identity(
            wait())
    return 1


class Properties:
    @property
    def slow(self):
        return wait(
        )

    def __getitem__(self, key):
        return wait(
            key)

    def __add__(self, other):
        return wait(
            other
        )


def attribute_access():
    thing = Properties()
    return (
        thing
        .slow
    )


def subscript():
    thing = Properties()
    return thing[
        identity(
            1)
    ]


def operator_method():
    thing = Properties()
    return (
        thing
        +
        identity(1)
    )


def decorated():
    def decorate(function):
        return wait(
            function)

    @identity
    @decorate
    @identity
    def inner(
            argument=identity(
                1)):
        return argument

    return inner


def class_body():
    class Local(
            identity(object)):
        first = 1
        second = wait(
            first
        )

    return Local


def default_argument():
    def inner(a=identity(1),
              b=wait(
                  2)):
        return a, b

    return inner


def generator_body():
    def numbers():
        yield identity(1)
        yield wait(
            2)

    for number in (
            numbers(
            )):
        identity(
            number)


def yield_from():
    def leaf():
        yield identity(
            wait(1))

    def middle():
        yield from (
            leaf()
        )

    return list(
        middle(
        ))


def star_arguments():
    return identity(
        *[
            1,
            wait(2)],
        **{
            "a": 3})


def while_condition():
    while (
        not
        wait()
    ):
        break


def loop_iterable():
    for number in identity(
            wait(1),
            2) or ():
        identity(number)


def assert_statement():
    assert not wait(
    ), \
        identity("text")


def sort_key():
    return sorted(
        [2, 1],
        key=lambda number: wait(
            number))


def through_c_code():
    return list(map(
        wait,
        [1,
         2]))



def generated(name, gap, indent):
    """Jumps over many lines forward and back, and columns far to the right."""
    source = (gap + "def " + name + "():\n    return identity(" + " " * indent + "identity(1),\n" + gap
              + "        wait(2,\n" + gap + " " * indent + "identity(3)),\n" + gap + "        4)\n")
    names = {"identity": identity, "wait": wait}
    exec(compile(source.replace("wait(2,", "identity(2, wait(),"), name + ".generated.py", "exec"), names)
    return names[name]


far_forth = generated("far_forth", "\n" * 130, 0)
farther_forth = generated("farther_forth", "\n" * 40000, 0)
far_right = generated("far_right", "", 200)
far_both = generated("far_both", "\n" * 300, 5000)

SHAPES = [value for value in list(globals().values())
          if isinstance(value, types.FunctionType) and value not in (wait, identity, generated)]
WAITING = 'line %d in wait' % (wait.__code__.co_firstlineno + 1)


def truth():
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read().decode()


def others(text):
    """The stacks of all threads but the first one listed as current."""
    stacks = re.split(r"\n(?=(?:Current thread|Thread) )", text)
    return [stack for stack in stacks if not stack.startswith("Current")]


def positions(frame):
    """[line, end line, column, end column] of each frame, innermost first; only from 3.11 on."""
    found = []
    while frame is not None:
        found.append(list(frame.f_code.co_positions())[frame.f_lasti // 2])
        frame = frame.f_back
    return found


def main():
    threads = [threading.Thread(target=shape, name=shape.__name__) for shape in SHAPES]
    for thread in threads:
        thread.start()
    while True:
        stacks = others(truth())
        if len(stacks) == len(threads) and all(stack.split("\n")[1].endswith(WAITING) for stack in stacks):
            break
    for thread in threads:
        pact.say("thread", "0x%016x" % thread.ident, thread.name)
    pact.say("truth", "\n".join(stacks))
    if hasattr(wait.__code__, "co_positions"):
        frames = sys._current_frames()
        for thread in threads:
            pact.say("positions", "0x%016x" % thread.ident, json.dumps(positions(frames[thread.ident])))
        del frames
    pact.say("ready")
    pact.hear()
    os.close(finger)
    for thread in threads:
        thread.join()
    print(len(threads), "shapes ended well")


main()

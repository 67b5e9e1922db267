"""A program that knows where its time goes: phases of a millisecond or more, in turns, each timed by one clock reading.

On "clock", it reports {phase: ns} and the total time. `inside` are shares that are known by construction: {phase:
{function: share of the phase}}. Runs on Python 3.8 and later.
"""
import json
import os
import select
import sys
import time

sys.path.insert(0, os.environ.get("PP_TARGETS") or os.path.join(os.path.dirname(__file__), "../../targets"))
import pact  # noqa: E402

clock = time.perf_counter_ns
BLOCK_NS = 2000000


def took(function, times):
    began = clock()
    function(times)
    return clock() - began


def tuned(function, block_ns=BLOCK_NS):
    """How many calls make a block of that length; the best of three, so that a busy machine does not shorten it."""
    times = 1
    while True:
        best = min(took(function, times) for _ in range(3))
        if best >= block_ns:
            return times
        times = max(times + 1, min(times * 8, int(times * 1.1 * block_ns / max(1, best))))


def costs_of(functions, times=100, rounds=60):
    """{name: ns of a call}: the least of many rounds in turns, as a busy moment of the machine can affect all of a few.
    """
    def repeat(function):
        def run(count):
            for _ in range(count):
                function()
        return run
    runs = {function.__name__: repeat(function) for function in functions}
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            least[name] = min(least[name], took(run, times) / times)
    return least


def share_of_callee(function, twin, times):
    """The share of its callee in `function`; `twin` is the same function with a callee that does nothing."""
    whole, rest = [], []
    for _ in range(15):
        whole.append(took(function, times))
        rest.append(took(twin, times))
    return 1 - min(rest) / min(whole)


def answer(spent, began, inside):
    pact.say("clock", json.dumps({"spent": spent, "all": clock() - began, "inside": inside}))


def serve(phases, inside=None, block_ns=BLOCK_NS):
    """Never ends: runs `phases` in turns; they are functions that take the number of repetitions."""
    plan = [(phase.__name__, phase, tuned(phase, block_ns)) for phase in phases]
    known = inside(dict((name, times) for name, _, times in plan)) if inside else {}
    spent = dict.fromkeys([name for name, _, _ in plan], 0)
    poll = select.poll()
    if pact.descriptor() >= 0:
        poll.register(pact.descriptor(), select.POLLIN)
    pact.say("ready")
    began = last = clock()
    while True:
        for name, phase, times in plan:
            phase(times)
            now = clock()
            spent[name] += now - last
            last = now
        if poll.poll(0):
            if pact.hear() != "clock":
                return
            answer(spent, began, known)
            last = clock()

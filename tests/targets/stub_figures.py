"""The cost of an event in the target: thread CPU time of the same work untraced, traced, and under cProfile, in turns.

Says "figures JSON": {work: {kind: [median ns per event, slowdown], "events": n}}. "others muted": with a table of muted
code that does not include the work.
"""
import cProfile
import json
import statistics
import threading
import time

import pact
from stub_collector import Capture, Stub, told_layout

ROUNDS, REPETITIONS = 9, 4
MUTED = [value.__code__ for value in vars(json.decoder.JSONDecoder).values() if hasattr(value, "__code__")] + [
    value.__code__ for value in vars(statistics).values() if hasattr(value, "__code__")]
EVENT_TAGS = ("START", "RESUME", "THROW", "RETURN", "YIELD", "UNWIND", "C_CALL", "C_RETURN", "C_RAISE")


def fib(number):
    return number if number < 2 else fib(number - 1) + fib(number - 2)


def work_fib():
    fib(21)


def work_mixed():
    for number in range(300):
        text = json.dumps({"a": [number, {"b": number}], "c": str(number)})
        json.loads(text)
        sum(x for x in range(10))


def work_loop():
    total = 0
    for number in range(500000):
        total += number & 3


def timed(work):
    started = time.thread_time_ns()
    work()
    return time.thread_time_ns() - started


def traced(stub, work, times, **options):
    """Adds thread times to `times`; returns the number of events of one run."""
    with Capture(stub, rings=2, records=1 << 17, **options) as capture:
        for code in options.get("mutes", False) * MUTED:
            capture.mute(code)
        capture.touch()
        (index,) = capture.index_of(threading.get_native_id())
        head, tail = capture.words(index)
        while head.value < capture.records:  # once around, so that all its pages are mapped, as for most of a capture
            work_fib()
            tail.value = head.value
        work()
        for _ in range(REPETITIONS):
            tail.value = start = head.value
            times.append(timed(work))
            end = head.value
        capture.disarm()
        assert capture.ring(index)["lost_total"] == 0
        return sum(tag in EVENT_TAGS for _, tag, _ in capture.raw(index, start, end))


def profiled(work):
    profile = cProfile.Profile()
    profile.enable()
    spent = timed(work)
    profile.disable()
    return spent


def figures(stub, work):
    work()
    plain, ours, ours_and_c, with_table, theirs, events, events_and_c = [], [], [], [], [], 1, 1
    for _ in range(ROUNDS):
        plain.append(timed(work))
        events = traced(stub, work, ours)
        plain.append(timed(work))
        events_and_c = traced(stub, work, ours_and_c, c_calls=True)
        plain.append(timed(work))
        traced(stub, work, with_table, mutes=True)
        theirs.append(profiled(work))
    base = statistics.median(plain)

    def said(times, count):
        median = statistics.median(times)
        return [round((median - base) / count, 1), round(median / base, 2)]
    return {"frames": said(ours, events), "others muted": said(with_table, events), "frames and C": said(ours_and_c, events_and_c),
            "cProfile": said(theirs, events_and_c), "events": events, "events with C": events_and_c}


pact.say("ready")
STUB = Stub(told_layout())
pact.say("figures", json.dumps({work.__name__[5:]: figures(STUB, work) for work in (work_fib, work_mixed, work_loop)}))

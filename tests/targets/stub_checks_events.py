"""What is recorded on one thread: events are compared with expectations by hand, or with a recorder in Python."""
import ctypes
import gc
import os
import signal
import sys
import threading

import stub_corpus
from stub_collector import IS_FREE_THREADED, Capture

TID = threading.get_native_id()
HAS_MONITORING = sys.version_info >= (3, 12)
EVENT_TAGS = ("START", "RESUME", "THROW", "RETURN", "YIELD", "UNWIND")


def records(capture, tid=TID):
    """All records of a thread, from its only ring."""
    indices = capture.index_of(tid)
    assert len(indices) == 1, (tid, indices)
    return capture.raw(indices[0])


def named(found, names):
    return [f"{tag} {names[value]}" for _, tag, value in found if tag in EVENT_TAGS and value in names]


def assert_same(found, expected, what=""):
    if found != expected:
        at = next((i for i, pair in enumerate(zip(found, expected)) if pair[0] != pair[1]), min(len(found), len(expected)))
        raise AssertionError(f"{what}: {len(found)} events, {len(expected)} expected; at {at}:\n"
                             f"  found    {found[max(0, at - 3):at + 6]}\n  expected {expected[max(0, at - 3):at + 6]}")


def check_scenarios(stub):
    names = stub_corpus.names()
    for scenario, expected in stub_corpus.SCENARIOS:
        with Capture(stub) as capture:
            scenario()
        assert_same(named(records(capture), names), expected, scenario.__name__)


def check_scenarios_a_second_time_in_one_capture(stub):
    names = stub_corpus.names()
    with Capture(stub) as capture:
        for _ in range(3):
            for scenario, _expected in stub_corpus.SCENARIOS:
                scenario()
    assert_same(named(records(capture), names), 3 * [event for _, expected in stub_corpus.SCENARIOS for event in expected])


def check_times_never_decrease(stub):
    for clock in (0, 1):
        with Capture(stub, clock=clock) as capture:
            stub_corpus.countdown(200)
        times = [when for when, _, _ in records(capture)]
        assert times == sorted(times) and times[-1] > times[0], times[:10]


def check_deep_recursion(stub):
    sys.setrecursionlimit(20000)
    with Capture(stub) as capture:
        stub_corpus.countdown(5000)
    found = named(records(capture), stub_corpus.names())
    assert_same(found, ["START countdown"] * 5001 + ["RETURN countdown"] * 5001)


def _recorded_by_python(function):
    """The events of a recorder written in Python: ("in" or "out", code object)."""
    found = []
    if not HAS_MONITORING:
        def record(frame, event, _argument):
            if event in ("call", "return"):
                found.append(("in" if event == "call" else "out", frame.f_code))
        sys.setprofile(record)
        try:
            function()
        finally:
            sys.setprofile(None)
        return found
    monitoring, events = sys.monitoring, sys.monitoring.events
    monitoring.use_tool_id(5, "recorder")
    for names, way in ((("PY_START", "PY_RESUME", "PY_THROW"), "in"), (("PY_RETURN", "PY_YIELD", "PY_UNWIND"), "out")):
        for name in names:
            monitoring.register_callback(5, getattr(events, name), lambda code, *_, way=way: found.append((way, code)))
    monitoring.set_events(5, events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_RETURN | events.PY_YIELD
                          | events.PY_UNWIND)
    function()
    monitoring.set_events(5, 0)
    for name in ("PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND"):
        monitoring.register_callback(5, getattr(events, name), None)
    monitoring.free_tool_id(5)
    return found


def _library_work():
    import collections
    import decimal
    import json
    import re
    text = json.dumps({str(i): [i, {"x": (i, None, True)}] for i in range(40)}, indent=1, sort_keys=True)
    assert json.loads(text)["3"][0] == 3
    words = collections.Counter(re.findall(r"\w+", text))
    for word, count in sorted(words.items(), key=lambda pair: (-pair[1], pair[0])):
        decimal.Decimal(count) / 7
        try:
            int(word, 2)
        except ValueError:
            pass
    return sum(x * y for x in range(20) for y in (z for z in range(x)))


def check_against_a_recorder_in_python(stub):
    for _ in range(3):  # so that caches fill
        _library_work()
    gc.disable()  # a collection would run finalizers in only one of them
    try:
        expected = _recorded_by_python(_library_work)
        with Capture(stub) as capture:
            _library_work()
    finally:
        gc.enable()
    first = expected.index(("in", _library_work.__code__))
    expected = expected[first:len(expected) - expected[::-1].index(("out", _library_work.__code__))]
    names = {id(code): code for _, code in expected}
    ways = dict(zip(EVENT_TAGS, ("in",) * 3 + ("out",) * 3))
    found = [(ways[tag], names.get(value)) for _, tag, value in records(capture) if tag in ways]
    start = found.index(("in", _library_work.__code__))
    found = found[start:start + len(expected)]
    assert len(expected) > 500, len(expected)
    assert_same(found, expected)


def _builtin_names(found):
    """C calls as "TAG name", with the name from the PyMethodDef that follows, or "?" if none does."""
    said = []
    for at, (_, tag, _value) in enumerate(found):
        if tag == "C_CALL":
            name = "?"
            if at + 1 < len(found) and found[at + 1][1] == "CODE":
                name = ctypes.string_at(ctypes.c_uint64.from_address(found[at + 1][2]).value).decode()
            said.append(f"C_CALL {name}")
        elif tag in ("C_RETURN", "C_RAISE"):
            said.append(tag)
    return said


def c_calls(things):
    len(things)
    things.append(1)
    stub_corpus.leaf()
    list.append(things, 2)
    try:
        ord("")
    except TypeError:
        pass
    return sorted(things, key=stub_corpus.by_key)


def check_c_calls(stub):
    with Capture(stub, c_calls=True) as capture:
        c_calls([])
    found = records(capture)
    start = found.index(next(one for one in found if one[1:] == ("START", id(c_calls.__code__))))
    end = found.index(next(one for one in found if one[1:] == ("RETURN", id(c_calls.__code__))))
    expected = ["C_CALL len", "C_RETURN", "C_CALL append", "C_RETURN", "C_CALL append", "C_RETURN", "C_CALL ord", "C_RAISE",
                "C_CALL sorted", "C_RETURN"]
    assert_same(_builtin_names(found[start:end]), expected)
    names = {**stub_corpus.names(), id(c_calls.__code__): "c_calls"}
    assert_same(named(found[start:end + 1], names), [
        "START c_calls", "START leaf", "RETURN leaf", "START by_key", "RETURN by_key", "START by_key", "RETURN by_key",
        "RETURN c_calls"])
    order = [tag for _, tag, _ in found[start:end] if tag not in ("CODE", "FRAME")]
    assert order.index("START", 1) > order.index("C_RETURN"), order


def called_in_every_way():
    type("X", (), {})()
    "{}".format(1)
    print(end="", *[])
    max(*[1, 2], key=stub_corpus.by_key)
    (stub_corpus.Thing().__enter__)()
    stub_corpus.Thing.__enter__(None)
    dict.fromkeys("ab")
    [].sort(key=stub_corpus.by_key)
    "a".join(x for x in "ab")


def check_c_calls_nest(stub):
    """Ends belong to the beginning before them: as many C_CALLs as ends, properly nested with the frames."""
    with Capture(stub, c_calls=True) as capture:
        called_in_every_way()
    found = [tag for _, tag, _ in records(capture)]
    start = [one[1:] for one in records(capture)].index(("START", id(called_in_every_way.__code__)))
    stack = []
    for tag in found[start:]:
        if tag in ("START", "RESUME", "THROW", "C_CALL"):
            stack.append(tag)
        elif tag in ("RETURN", "YIELD", "UNWIND"):
            assert stack.pop() != "C_CALL", found[start:]
            if not stack:
                return
        elif tag in ("C_RETURN", "C_RAISE"):
            assert stack.pop() == "C_CALL", found[start:]
    raise AssertionError(f"never came back: {found[start:]}")


def check_no_c_calls_unless_asked(stub):
    with Capture(stub) as capture:
        c_calls([])
    assert not {tag for _, tag, _ in records(capture)} & {"C_CALL", "C_RETURN", "C_RAISE", "CODE"}


def check_frames_of_generators(stub):
    """FRAME comes after each event of a generator, and nowhere else, to distinguish two with the same code."""
    with Capture(stub) as capture:
        for _ in zip(stub_corpus.numbers(), stub_corpus.numbers()):
            stub_corpus.leaf()
    found, code = records(capture), id(stub_corpus.numbers.__code__)
    frames = []
    for one, after in zip(found, found[1:]):
        if one[1] in EVENT_TAGS and one[2] == code:
            assert after[1] == "FRAME" and after[0] == one[0], (one, after)
            frames.append((one[1], after[2]))
        elif one[2] == id(stub_corpus.leaf.__code__):
            assert after[1] != "FRAME"
    first, second = frames[0][1], frames[2][1]
    assert first != second
    assert frames[:7] == [("START", first), ("YIELD", first), ("START", second), ("YIELD", second), ("RESUME", first),
                          ("YIELD", first), ("RESUME", second)], frames


def check_self_of_asked_code(stub):
    thing = stub_corpus.Thing()
    with Capture(stub, armed=False) as capture:
        capture.ask_for_self(stub_corpus.Thing.__exit__.__code__, stub_corpus.Thing.__enter__.__code__)
        capture.arm()
        thing.__enter__()
        stub_corpus.leaf()
    found = records(capture)
    at = [one[1:] for one in found].index(("START", id(stub_corpus.Thing.__enter__.__code__)))
    assert found[at + 1][1:] == ("SELF", id(thing)), found[at:at + 2]
    assert sum(tag == "SELF" for _, tag, _ in found) == 1


def _overflowing():
    for _ in range(40):
        stub_corpus.calls()
    stub_corpus.countdown(20)
    try:
        stub_corpus.passes()
    except ValueError:
        pass


def _gap(events):
    net = lowest = 0
    for tag, _ in events:
        net += 1 if tag in ("START", "RESUME", "THROW") else -1
        lowest = min(lowest, net)
    return net, lowest


def _since(capture, index, start):
    return [one[1:] for one in capture.raw(index)[start:] if one[1] in EVENT_TAGS]


def check_overflow(stub):
    """The gap has exactly the missing events: nothing is lost silently, nothing comes twice."""
    with Capture(stub) as whole:
        stub_corpus.nothing()
        (index,) = whole.index_of(TID)
        head, tail = whole.words(index)
        start = head.value
        _overflowing()
    events = _since(whole, index, start)
    events = events[:events.index(("RETURN", id(_overflowing.__code__))) + 1]
    with Capture(stub, records=256) as capture:
        stub_corpus.nothing()
        (index,) = capture.index_of(TID)
        head, tail = capture.words(index)
        tail.value = start = head.value
        _overflowing()  # from here until the ring is drained, no Python function is called
        drained_to = head.value
        copy = capture.memory[:]
        tail.value = start + 8  # not enough to continue
        stub_corpus.nothing()
        stub_corpus.nothing()
        still_at = head.value
        tail.value = drained_to
        stub_corpus.nothing()
    assert still_at == drained_to, (still_at, drained_to)
    events += [(tag, id(stub_corpus.nothing.__code__)) for tag in ("START", "RETURN")] * 2
    kept = [one[1:] for one in capture.raw(index, start, drained_to, copy) if one[1] in EVENT_TAGS]
    assert 200 < len(kept) < 256, len(kept)
    assert_same(kept, events[:len(kept)])
    missing = events[len(kept):]
    after = capture.raw(index)
    assert [one[1] for one in after[:4]] == ["LOST", "LOST_END", "START", "RETURN"], after[:4]
    assert after[0][2] == len(missing) == capture.ring(index)["lost_total"], (after[0], len(missing))
    gap = ctypes.c_int32(after[1][2] & 0xFFFFFFFF).value, ctypes.c_int32(after[1][2] >> 32).value
    assert gap == _gap(missing), (gap, _gap(missing))
    assert after[0][0] < after[1][0] == after[2][0], after[:3]


def _dive(depth):
    stub_corpus.leaf()
    try:
        return _dive(depth + 1)
    except RecursionError:
        return depth


def check_the_limit_of_recursion(stub):
    """The limit is the same as without a trace, and every frame that began ended."""
    sys.setrecursionlimit(1000)
    plain = _dive(0)
    with Capture(stub) as capture:
        traced = _dive(0)
    assert traced == plain, (traced, plain)
    tags = [tag for _, tag, value in records(capture) if value == id(_dive.__code__)]
    assert tags.count("START") == len(tags) - tags.count("START"), (tags.count("START"), len(tags))


async def _tasks():
    import asyncio
    queue = asyncio.Queue(2)

    async def give():
        for number in range(5):
            await queue.put(number)
            await asyncio.sleep(0)

    async def take():
        return [await queue.get() for _ in range(5)]

    async def fails():
        raise KeyError

    return await asyncio.gather(give(), take(), fails(), return_exceptions=True)


def check_asyncio(stub):
    """Frames of tasks nest: every end belongs to the last beginning, and addresses identify a coroutine's frames."""
    import asyncio
    asyncio.run(_tasks())
    with Capture(stub) as capture:
        asyncio.run(_tasks())
    found = records(capture)
    begin = [one[1:] for one in found].index(("START", id(asyncio.run.__code__)))
    stack, suspended = [], set()
    for at in range(begin, len(found)):
        _, tag, code = found[at]
        frame = found[at + 1][2] if at + 1 < len(found) and found[at + 1][1] == "FRAME" else None
        if tag in ("START", "RESUME", "THROW"):
            assert (tag == "START") == (frame not in suspended) or tag == "THROW", (at, tag)
            suspended.discard(frame)
            stack.append((code, frame))
        elif tag in ("RETURN", "YIELD", "UNWIND"):
            assert stack.pop() == (code, frame), (at, tag)
            if tag == "YIELD":
                suspended.add(frame)
            if not stack:
                return
    raise AssertionError("asyncio.run never returned")


class Raised(Exception):
    pass


def _raises(*_):
    raise Raised


def _called(number):
    return number


def _suspends():
    yield
    yield


def check_a_handler_raises_before_a_frame_tells(stub):
    """On 3.11, and from 3.13 on, it runs before the event of its frame. Still, each call has both its ends."""
    names = {id(function.__code__): function.__name__ for function in (_raises, _suspends, _called)}
    raise_signal = ctypes.CDLL(None)["raise"]  # does not check for signals itself: the next called function does
    before = signal.signal(signal.SIGUSR1, _raises)
    generator = _suspends()
    next(generator)
    with Capture(stub) as capture:
        for function in (lambda: list(map(_called, map(raise_signal, [signal.SIGUSR1]))),
                         lambda: list(map(generator.send, map(raise_signal, [signal.SIGUSR1])))):
            try:
                function()
            except Raised:
                continue
            raise AssertionError("nothing was raised")
    signal.signal(signal.SIGUSR1, before)
    expected, is_first = [], sys.version_info[:2] not in ((3, 8), (3, 9), (3, 10), (3, 12))
    for name, begin in (("_called", "START"), ("_suspends", "RESUME")):
        handler = ["START _raises", "UNWIND _raises"]
        frame = [f"{begin} {name}", f"UNWIND {name}"]
        expected += handler + frame if is_first else frame[:1] + handler + frame[1:]
    assert_same(named(records(capture), names), expected)


def check_next_to_a_tracer_of_the_job(stub):
    """sys.settrace works as if we were not there."""
    lines = []

    def theirs(frame, event, _argument):
        if frame.f_code.co_filename == stub_corpus.__file__:
            lines.append(event)
        return theirs

    def run():
        del lines[:]
        sys.settrace(theirs)
        stub_corpus.catches()
        stub_corpus.sums()
        sys.settrace(None)
        return list(lines)

    before = run()
    with Capture(stub) as capture:
        during = run()
    assert before == during == run() and "line" in before
    expected = dict((function.__name__, events) for function, events in stub_corpus.SCENARIOS)
    assert_same(named(records(capture), stub_corpus.names()), expected["catches"] + expected["sums"])


def check_unarmed_records_nothing(stub):
    with Capture(stub, armed=False) as capture:
        stub_corpus.calls()
        for index in range(capture.rings):
            assert capture.ring(index)["head"] == 0
        (index,) = capture.index_of(TID)
        word = capture.ring(index)["unarmed"]
    assert word and not word & 32 and word & 15 in range(1, 7), hex(word)


def check_a_capture_costs_nothing_afterwards(stub):
    """The same objects, descriptors and mappings after many captures; memory does not grow."""
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def mappings():
        with open("/proc/self/maps") as file:
            return sum(1 for _ in file)

    def captures(count):
        for _ in range(count):
            with Capture(stub, records=256):
                stub_corpus.calls()
        gc.collect()

    captures(20)
    before = resident(), mappings(), sorted(os.listdir("/proc/self/fd")), len(gc.get_objects())
    captures(200)
    if IS_FREE_THREADED:  # its allocator frees late: memory varies by more than captures could leave
        sizes = [(captures(100), resident())[1] for _ in range(8)]
        assert min(sizes[4:]) <= max(sizes[:4]), sizes
        return
    after = resident(), mappings(), sorted(os.listdir("/proc/self/fd")), len(gc.get_objects())
    assert after[2] == before[2], (before[2], after[2])
    assert after[0] - before[0] < 1 << 20 and abs(after[1] - before[1]) <= 4, (before, after)
    assert after[3] - before[3] < 100, (before[3], after[3])

"""Code whose events the stub does not report, and what remains of it: 3.12 and later. Also the cost of an event."""
import builtins
import os
import signal
import sys

import stub_corpus
from stub_checks_events import EVENT_TAGS, records
from stub_collector import CALL_COST, FRAME_COST, Capture

HAS_MONITORING = sys.version_info >= (3, 12)


def excluded(number):
    return number + 1


def generator():
    yield 1
    yield 2


def raising():
    raise ValueError


def calls_len(things):
    stub_corpus.leaf()
    return len(things)


def all_of_them():
    for number in range(5):
        excluded(number)
    list(generator())
    thrown = generator()
    next(thrown)
    try:
        thrown.throw(KeyError)
    except KeyError:
        pass
    try:
        raising()
    except ValueError:
        pass
    calls_len([])


MUTED = [function.__code__ for function in (excluded, generator, raising, calls_len)]


def told(capture, codes=MUTED):
    """How many events of each tag there are for these code objects."""
    found = {}
    for _, tag, value in records(capture):
        if tag in EVENT_TAGS and value in [id(code) for code in codes]:
            found[tag] = found.get(tag, 0) + 1
    return found


def full():
    """The events of these functions if nothing is muted."""
    return {"START": 9, "RETURN": 7, "YIELD": 3, "RESUME": 2, "THROW": 1, "UNWIND": 2}


def _muting(stub, **options):
    with Capture(stub, mutes=True, **options) as capture:
        for code in MUTED:
            capture.mute(code)
        all_of_them()
        all_of_them()
    return capture


def check_nothing_is_told_of_muted_code(stub):
    if not HAS_MONITORING:
        return
    count = sys.getrefcount(sys.monitoring.DISABLE)
    capture = _muting(stub, c_calls=True)
    assert told(capture) == {}, told(capture)
    found = records(capture)
    assert [value for _, tag, value in found if tag == "START"].count(id(all_of_them.__code__)) == 2
    assert [value for _, tag, value in found if tag == "START"].count(id(stub_corpus.leaf.__code__)) == 2
    assert id(len) not in [value for _, tag, value in found if tag == "C_CALL"]
    assert {value for _, tag, value in found if tag == "CALLER"}.isdisjoint({id(code) for code in MUTED})
    assert sys.getrefcount(sys.monitoring.DISABLE) == count


def check_a_table_without_entries_changes_nothing(stub):
    if not HAS_MONITORING:
        return
    with Capture(stub, mutes=True, c_calls=True) as capture:
        all_of_them()
    assert told(capture) == full(), told(capture)
    found = records(capture)
    callers = [found[at + 2][2] for at, (_, tag, value) in enumerate(found) if tag == "C_CALL" and value == id(len)]
    assert id(calls_len.__code__) in callers, found


def check_muting_does_not_outlive_its_capture(stub):
    """Events that were switched off are reported again, although the code did not run between the two captures."""
    if not HAS_MONITORING:
        return
    for _ in range(3):
        _muting(stub)
        with Capture(stub) as capture:
            all_of_them()
        assert told(capture) == full(), told(capture)


def check_muting_does_not_outlive_a_lost_lease(stub):
    if not HAS_MONITORING:
        return
    with Capture(stub, mutes=True) as capture:
        for code in MUTED:
            capture.mute(code)
        all_of_them()
        capture.expire()
        all_of_them()
    with Capture(stub) as capture:
        all_of_them()
    assert told(capture) == full(), told(capture)


def check_muting_does_not_outlive_a_tool_id_that_was_taken(stub):
    """The job takes our tool ID while code is muted. It keeps the ID, and gets all events."""
    if not HAS_MONITORING:
        return
    monitoring = sys.monitoring
    heard = []
    with Capture(stub, mutes=True) as capture:
        for code in MUTED:
            capture.mute(code)
        all_of_them()
        tool = capture.tool_id
        monitoring.free_tool_id(tool)
        monitoring.use_tool_id(tool, "the job")
    monitoring.register_callback(tool, monitoring.events.PY_START, lambda code, _offset: heard.append(code))
    monitoring.set_events(tool, monitoring.events.PY_START)
    all_of_them()
    monitoring.set_events(tool, 0)
    monitoring.free_tool_id(tool)
    assert heard.count(excluded.__code__) == 5, heard


def check_what_others_switched_off_is_told_to_them_again(stub):
    """Nothing is taken from another tool: it gets an event of each place once more after our capture, then no more."""
    if not HAS_MONITORING:
        return
    monitoring = sys.monitoring
    heard = []

    def once(code, _offset):
        heard.append(code)
        return monitoring.DISABLE

    monitoring.use_tool_id(1, "another")
    monitoring.register_callback(1, monitoring.events.PY_START, once)
    monitoring.set_events(1, monitoring.events.PY_START)
    try:
        all_of_them()
        before = heard.count(excluded.__code__)
        _muting(stub)
        all_of_them()
        all_of_them()
        after = heard.count(excluded.__code__)
    finally:
        monitoring.set_events(1, 0)
        monitoring.free_tool_id(1)
    assert before == 1 and after in (1, 2), (before, after)


def check_other_code_at_the_address_is_told(stub):
    """An entry is for one code object, not for its address."""
    if not HAS_MONITORING:
        return
    with Capture(stub, mutes=True) as capture:
        for code in MUTED:
            capture.mute(code, check=4)  # the check value of earlier code
        all_of_them()
    assert told(capture) == full(), told(capture)


def check_ends_are_told_while_only_begins_are_muted(stub):
    if not HAS_MONITORING:
        return
    with Capture(stub, mutes=True) as capture:
        for code in MUTED:
            capture.mute(code, only_begins=True)
        all_of_them()
    expected = {tag: count for tag, count in full().items() if tag in ("RETURN", "YIELD", "UNWIND")}
    assert told(capture) == expected, told(capture)


def check_muting_in_a_forked_child(stub):
    """The child inherits what was switched off and has no table. In a capture of its own it gets all events."""
    if not HAS_MONITORING:
        return
    with Capture(stub, mutes=True) as capture:
        for code in MUTED:
            capture.mute(code)
        all_of_them()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                all_of_them()
                stub_corpus.leaf()
                tool = 3 if sys.monitoring.get_tool(3) is None else 5
                heard = []
                sys.monitoring.use_tool_id(tool, "child")
                sys.monitoring.register_callback(tool, sys.monitoring.events.PY_START,
                                                 lambda code, _offset: heard.append(code))
                sys.monitoring.set_events(tool, sys.monitoring.events.PY_START)
                all_of_them()
                status = 0 if tool == 3 and heard.count(excluded.__code__) == 5 else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def check_costs_are_measured(stub):
    with Capture(stub, c_calls=True) as capture:
        frames, calls = capture.cost(FRAME_COST), capture.cost(CALL_COST)
        heads = [capture.ring(index)["head"] for index in range(capture.rings)]
    if not HAS_MONITORING:
        assert frames == calls == (0, 0), (frames, calls)
        return
    assert frames[0] == calls[0] == 128 and frames[1] > 0 and calls[1] > 0, (frames, calls)
    assert sum(heads) < 100, heads  # the measurement itself is not recorded
    with Capture(stub) as capture:
        assert capture.cost(FRAME_COST) == frames and capture.cost(CALL_COST) == (0, 0)


class Raised(Exception):
    pass


def check_a_signal_while_costs_are_measured(stub):
    """An exception of its handler reaches the main thread; the capture begins without measured costs."""
    if not HAS_MONITORING:
        return

    def handler(*_):
        raise Raised

    def raising_range(*arguments):  # the measurement calls it
        builtins.range = real
        signal.raise_signal(signal.SIGUSR1)
        return real(*arguments)

    def call(entry):
        del stub.call
        try:
            stub.call(entry)
            while True:
                pass
        except Raised:
            raised.append(entry)

    real, raised = builtins.range, []
    before = signal.signal(signal.SIGUSR1, handler)
    builtins.range, stub.call = raising_range, call
    with Capture(stub, clock=1) as capture:  # measured anew for each clock
        stub_corpus.calls()
    signal.signal(signal.SIGUSR1, before)
    assert len(raised) == 1 and builtins.range is real
    assert capture.cost(FRAME_COST) == (0, 0), capture.cost(FRAME_COST)
    assert ("START", id(stub_corpus.calls.__code__)) in [one[1:] for one in records(capture)]
    with Capture(stub, clock=1) as capture:
        assert capture.cost(FRAME_COST)[0] == 128

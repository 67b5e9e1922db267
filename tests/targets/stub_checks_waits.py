"""A thread whose ring is full and that is to wait for room: nothing is lost, and no thread waits for ever."""
import contextlib
import mmap
import os
import signal
import struct
import traceback

import stub_corpus
from stub_checks_events import EVENT_TAGS, TID, assert_same
from stub_collector import HOLDS, LEASE, LEASE_AT, LEFT, PAGE, TAGS, TAG_BITS, TAG_MASK, TAIL, Capture, descriptors

RECORDS = 256
MONOTONIC = 1  # pp_clock: nanoseconds
LONG = 20 * 10**9  # longer than any check; a wait of that length fails


def _work():
    for _ in range(60):
        stub_corpus.calls()
    stub_corpus.countdown(20)


def _events(found):
    return [one[1:] for one in found if one[1] in EVENT_TAGS]


def _expected(stub):
    with Capture(stub) as capture:
        stub_corpus.nothing()
        (index,) = capture.index_of(TID)
        head, _ = capture.words(index)
        start = head.value
        _work()
        end = head.value
    return _events(capture.raw(index, start, end))


class Reader:
    """The rings of a capture, in a process of its own, as a collector has them."""

    def __init__(self, capture, index, file, output):
        self.memory = mmap.mmap(file, capture.size)
        self.at = PAGE * (1 + index)
        self.records = PAGE * (1 + capture.rings) + 16 * RECORDS * index
        self.output = output
        self.seen = 0

    def word(self, at):
        return struct.unpack_from("<Q", self.memory, at)[0]

    def put(self, at, value):
        struct.pack_into("<Q", self.memory, at, value)

    def await_hold(self):
        """Waits until the thread waits once more than the last time."""
        while self.word(self.at + HOLDS) == self.seen:
            pass
        self.seen = self.word(self.at + HOLDS)

    def read(self):
        head, tail = self.word(self.at), self.word(self.at + TAIL)
        for record in range(tail, head):
            start = self.records + 16 * (record % RECORDS)
            os.write(self.output, self.memory[start:start + 16])
        self.put(self.at + TAIL, head)


@contextlib.contextmanager
def _beside(capture, index, what):
    """Runs `what` in another process during the block; yields the file that it writes to."""
    output = os.memfd_create("drained")
    (theirs,) = descriptors(f"memfd:pp-stub-test-{capture.nonce} ")  # which a child closes as soon as it runs
    file = os.open(f"/proc/self/fd/{theirs}", os.O_RDWR)
    child = os.fork()
    if child == 0:
        try:
            what(Reader(capture, index, file, output))
        except BaseException:
            traceback.print_exc()  # which fails the test
        finally:
            os._exit(0)
    os.close(file)
    try:
        yield output
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _parse(output):
    data = os.pread(output, 1 << 24, 0)
    os.close(output)
    return [(when >> TAG_BITS, TAGS[when & TAG_MASK], value) for when, value in struct.iter_unpack("<QQ", data)]


def _waiting(stub, what):
    """Runs _work() with a ring that is too small, and `what` in another process. Returns the ring at the end, all
    records, and those of _work() among them."""
    with Capture(stub, armed=False, records=RECORDS, longest_hold=LONG, clock=MONOTONIC) as capture:
        stub_corpus.nothing()
        (index,) = capture.index_of(TID)
        with _beside(capture, index, what) as output:
            capture.arm()
            _work()
            capture.disarm()
    found = _parse(output) + capture.raw(index)
    begin, end = ([one[1:] for one in found].index((tag, id(_work.__code__))) for tag in ("START", "RETURN"))
    return capture.ring(index), found, found[begin:end + 1]


def _reads_on_each_hold(reader):
    while True:
        reader.await_hold()
        reader.read()


def check_waiting_loses_nothing(stub):
    expected = _expected(stub)
    ring, found, of_work = _waiting(stub, _reads_on_each_hold)
    assert_same(_events(of_work), expected)
    assert ring["lost_total"] == ring["lost"] == 0 and ring["holds"] > 1 and ring["held_time"] > 0, ring
    times = [when for when, _, _ in found]
    assert times == sorted(times)
    told = []
    for at, (since, tag, value) in enumerate(found):
        if tag == "LOST":  # no event: the thread waited
            until, next_tag, change = found[at + 1]
            assert (value, next_tag, change) == (0, "LOST_END", 0) and until == found[at + 2][0], found[at:at + 3]
            told.append(until - since)
    assert (len(told), sum(told)) == (ring["holds"], ring["held_time"]), (told, ring)


def check_waiting_through_signals(stub):
    """Each of them interrupts the wait; none ends it."""
    received = {}
    before = signal.signal(signal.SIGUSR1, received.setdefault)
    parent = os.getpid()

    def interrupts(reader):
        while True:
            reader.await_hold()
            for _ in range(100):
                os.kill(parent, signal.SIGUSR1)
            reader.read()

    expected = _expected(stub)
    try:
        ring, _, of_work = _waiting(stub, interrupts)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert_same(_events(of_work), expected)
    assert signal.SIGUSR1 in received and ring["lost_total"] == 0, (received, ring)


def check_nobody_waits_for_longer_than_allowed(stub):
    """Then events are lost, and counted, as if the thread had not waited."""
    longest = 3 * 10**6
    expected = _expected(stub)
    with Capture(stub, records=RECORDS, longest_hold=longest, clock=MONOTONIC) as capture:
        stub_corpus.nothing()
        (index,) = capture.index_of(TID)
        head, tail = capture.words(index)
        tail.value = start = head.value
        _work()
        full = head.value
        copy = capture.memory[:]
        tail.value = full
        stub_corpus.nothing()
    kept = _events(capture.raw(index, start, full, copy))
    ring = capture.ring(index)
    assert_same(kept, expected[:len(kept)])
    gap = capture.raw(index)
    missing = len(expected) - len(kept)
    assert [one[1] for one in gap[:2]] == ["LOST", "LOST_END"] and gap[0][2] == missing > 0, (gap[:2], missing)
    assert ring["holds"] == 1 and ring["held_time"] >= longest, ring
    assert gap[1][0] - gap[0][0] >= ring["held_time"], (gap[:2], ring)


def check_waiting_ends_with_the_lease(stub):
    def ends_the_lease(reader):
        reader.await_hold()
        reader.put(LEASE_AT, 0)

    with Capture(stub, armed=False, records=RECORDS, longest_hold=LONG, clock=MONOTONIC) as capture:
        stub_corpus.nothing()
        (index,) = capture.index_of(TID)
        with _beside(capture, index, ends_the_lease) as output:
            capture.arm()
            _work()
        os.close(output)
    ring = capture.ring(index)
    assert capture.state == LEFT and capture.leave_cause == LEASE, (capture.state, capture.leave_cause)
    assert ring["holds"] == 1 and ring["lost_total"] == 0 and not stub.busy, ring


def check_a_ring_without_leave_to_wait(stub):
    with Capture(stub, records=RECORDS) as capture:
        _work()
        (index,) = capture.index_of(TID)
    ring = capture.ring(index)
    assert ring["holds"] == ring["held_time"] == 0 and ring["lost_total"] > 0, ring


def check_children_never_wait(stub):
    with Capture(stub, armed=False, records=RECORDS, longest_hold=LONG, clock=MONOTONIC) as capture:
        stub_corpus.nothing()
        (index,) = capture.index_of(TID)
        with _beside(capture, index, _reads_on_each_hold) as output:
            capture.arm()
            for _ in range(5):
                _work()
                child = os.fork()
                if child == 0:
                    _work()
                    os._exit(7)
                assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 7
            capture.disarm()
        os.close(output)
    ring = capture.ring(index)
    assert ring["lost_total"] == 0 and ring["holds"] > 1, ring

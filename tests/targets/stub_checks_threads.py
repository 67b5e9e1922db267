"""Threads: those that run already, those that begin later, more than there are rings; and forked children."""
import ctypes
import os
import queue
import sys
import threading
import time

import stub_corpus
from stub_checks_events import EVENT_TAGS, assert_same, named
from stub_collector import ENDED, LIVE, Capture, descriptors

HAS_MONITORING = sys.version_info >= (3, 12)
BOOTSTRAP = threading.Thread._bootstrap.__code__


def _in_thread(tids):
    tids.append(threading.get_native_id())
    stub_corpus.calls()


CALLS = dict((function.__name__, events) for function, events in stub_corpus.SCENARIOS)["calls"]


def _of_thread(capture, tid):
    (index,) = capture.index_of(tid)
    return [one for one in capture.raw(index) if one[1] in EVENT_TAGS]


def check_a_thread_from_its_first_call(stub):
    """Also if its thread state has the address of that of a thread that has just ended."""
    tids = []
    with Capture(stub, rings=64) as capture:
        for _ in range(40):
            thread = threading.Thread(target=_in_thread, args=(tids,))
            thread.start()
            thread.join()
    names = stub_corpus.names()
    assert len(set(tids)) == 40
    for tid in tids:
        found = _of_thread(capture, tid)
        assert found[0][1:] == ("START", id(BOOTSTRAP)), found[:2]
        assert_same(named(found, names), CALLS, f"thread {tid}")


def check_many_threads_at_once(stub):
    names, tids, gate = stub_corpus.names(), [], threading.Barrier(9)

    def work():
        tids.append(threading.get_native_id())
        gate.wait()
        for _ in range(200):
            stub_corpus.calls()
            for _ in stub_corpus.numbers():
                pass
        gate.wait()

    running = [threading.Thread(target=work) for _ in range(4)]  # before …
    for thread in running:
        thread.start()
    with Capture(stub) as capture:
        late = [threading.Thread(target=work) for _ in range(4)]  # … and after
        for thread in late:
            thread.start()
        gate.wait()
        gate.wait()
        for thread in running + late:
            thread.join()
    expected = (CALLS + ["START numbers", "YIELD numbers", "RESUME numbers", "YIELD numbers", "RESUME numbers",
                         "RETURN numbers"]) * 200
    for tid in tids:
        assert_same(named(_of_thread(capture, tid), names), expected, f"thread {tid}")


def _assert_sound(found, open_before):
    """Ends belong to the last beginning, or to calls that were open at arming, innermost first."""
    stack = list(open_before)
    for _, tag, code in found:
        if tag in ("START", "RESUME", "THROW"):
            stack.append(code)
        else:
            while stack and stack[-1] != code and len(stack) <= len(open_before):
                stack.pop()  # it was not open at arming after all
            assert stack and stack.pop() == code, (tag, code, len(stack))


def check_arming_at_full_speed(stub):
    """Threads that never rest, which the beginnings and ends of many captures meet anywhere."""
    stop, ready = [], queue.SimpleQueue()  # written in C, so it adds no Python frame

    def work():
        ready.put(None)
        while not stop:
            stub_corpus.calls()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in threads:
        ready.get()
    chain = [id(function.__code__) for function in (work, stub_corpus.calls, stub_corpus.middle, stub_corpus.leaf)]
    events, interval = 0, sys.getswitchinterval()
    sys.setswitchinterval(0.0002)
    try:
        for _ in range(60):
            with Capture(stub, armed=False, records=1 << 11) as capture:
                capture.arm()
                time.sleep(0.001)
                capture.disarm()
            for thread in threads:
                for index in capture.index_of(thread.native_id):
                    found = [one for one in capture.raw(index) if one[1] in EVENT_TAGS]  # until the ring was full
                    _assert_sound(found, chain)
                    events += len(found)
    finally:
        sys.setswitchinterval(interval)
        stop.append(True)
        for thread in threads:
            thread.join()
    assert events > 0


def _from_c(body):
    """Runs `body` in a thread that C code makes."""
    libc = ctypes.CDLL(None)
    callback = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: body() and None)
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, callback, None) == 0
    return lambda: libc.pthread_join(thread, None), callback


def check_a_thread_made_by_c(stub):
    tids, met, go = [], threading.Event(), threading.Event()

    def body():
        tids.append(threading.get_native_id())
        met.set()
        go.wait()
        stub_corpus.calls()

    with Capture(stub) as capture:
        join, _callback = _from_c(body)
        met.wait()
        stub_corpus.nothing()  # an event of another thread
        go.set()
        join()
    assert_same(named(_of_thread(capture, tids[0]), stub_corpus.names()), CALLS)


def check_a_thread_that_c_makes_again_and_again(stub):
    """A thread state for each call, but one thread: one ring."""
    tids, names = [], stub_corpus.names()
    with Capture(stub) as capture:
        for _ in range(5):
            join, _callback = _from_c(lambda: tids.append(threading.get_native_id()))
            join()
    rings = [capture.ring(index)["tid"] for index in range(capture.rings)]
    assert all(rings.count(tid) <= 1 for tid in tids), (tids, rings)


def check_a_thread_that_waits_for_a_ring(stub):
    """The events that it could not record are a gap, which has the current depth."""
    gate, tids = threading.Barrier(3), []

    def holds():
        gate.wait()

    def waits():
        tids.append(threading.get_native_id())
        gate.wait()
        while capture.ring(1)["tid"] != tids[0]:
            stub_corpus.calls()

    with Capture(stub, rings=2) as capture:
        holder = threading.Thread(target=holds)
        holder.start()
        while capture.ring(1)["state"] != LIVE:
            pass
        waiting = threading.Thread(target=waits)
        waiting.start()
        gate.wait()
        holder.join()
        while capture.ring(1)["state"] != ENDED:  # the stub finds that out by itself
            pass
        assert capture.events_without_ring > 0
        capture.drain(1)
        capture.free(1)
        waiting.join()
        found = capture.raw(1)
        assert capture.events_without_ring == 0
    assert [tag for _, tag, _ in found[:2]] == ["LOST", "LOST_END"], found[:3]
    assert found[0][2] == capture.ring(1)["lost_total"] >= 16, (found[:2], capture.ring(1))
    net, lowest = ctypes.c_int32(found[1][2] & 0xFFFFFFFF).value, ctypes.c_int32(found[1][2] >> 32).value
    after = sum(1 if tag in ("START", "RESUME", "THROW") else -1 for _, tag, _ in found if tag in EVENT_TAGS)
    assert lowest == 0 and net > 0 and net + after == 0, (net, lowest, after)


def check_more_threads_than_rings(stub):
    """Events without a ring are counted; a freed ring is used again."""
    tids, gate, names = [], threading.Barrier(4), stub_corpus.names()

    def work():
        tids.append(threading.get_native_id())
        stub_corpus.calls()
        gate.wait()
        gate.wait()

    with Capture(stub, rings=2) as capture:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        gate.wait()
        assert capture.events_without_ring > 0
        used = [capture.ring(index) for index in range(2)]
        assert [one["state"] for one in used] == [LIVE, LIVE]
        gate.wait()
        for thread in threads:
            thread.join()
        assert threading.get_native_id() in [one["tid"] for one in used]
        (other,) = [index for index in range(2) if used[index]["tid"] != threading.get_native_id()]
        ended = []
        deadline = time.monotonic() + 60
        # It takes a few threads to notice that the owner is gone, which lasts a while after its join.
        while capture.ring(other)["state"] != 3 and time.monotonic() < deadline:
            thread = threading.Thread(target=_in_thread, args=(ended,))
            thread.start()
            thread.join()
        assert capture.ring(other)["state"] == 3, capture.ring(other)
        capture.drain(other)
        capture.free(other)
        thread = threading.Thread(target=_in_thread, args=(ended,))
        thread.start()
        thread.join()
    assert_same(named(_of_thread(capture, ended[-1]), names), CALLS)


def _hooks_here():
    if HAS_MONITORING:
        return [sys.monitoring.get_tool(number) for number in (3, 4)]
    return [sys.getprofile()]


def _mapped(name):
    with open("/proc/self/maps") as maps:
        return name in maps.read()


def check_fork_in_the_window(stub):
    """The child removes all hooks in itself and touches nothing shared; the parent's trace is exact."""
    names, main = stub_corpus.names(), threading.get_native_id()
    with Capture(stub) as capture:
        for _ in range(8):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    stub_corpus.calls()
                    stub_corpus.calls()
                    free = not any(_hooks_here()) and not _mapped("pp-stub-test") and not descriptors("pp-stub-test")
                    status = 0 if free and not stub.busy else 2
                finally:
                    os._exit(status)
            stub_corpus.calls()
            assert os.waitpid(child, 0)[1] == 0
    (index,) = capture.index_of(main)
    assert_same(named(capture.raw(index), names), CALLS * 8)
    assert {capture.ring(index)["tid"] for index in range(capture.rings)} <= {0, main}


def check_a_child_may_be_captured_itself(stub):
    with Capture(stub):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with Capture(stub) as own:
                    stub_corpus.calls()
                (index,) = own.index_of(threading.get_native_id())
                assert_same(named(own.raw(index), stub_corpus.names()), CALLS)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0


def check_a_queued_entry_that_a_child_inherits(stub):
    """It was meant for the parent, so nothing happens."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            served = stub.served
            stub.enter(pid=os.getppid())
            status = 0 if stub.served == served and not stub.busy and not any(_hooks_here()) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def check_a_program_started_in_the_window(stub):
    import subprocess
    with Capture(stub) as capture:
        assert subprocess.run([sys.executable, "-I", "-S", "-c", "print(1)"], stdout=subprocess.PIPE, check=True).stdout
        stub_corpus.calls()
    assert_same(named(_of_thread(capture, threading.get_native_id()), stub_corpus.names()), CALLS)

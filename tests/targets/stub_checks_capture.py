"""The life of a capture: its beginning, refusals, and every way to its end."""
import ctypes
import os
import sys
import threading
import traceback

import stub_corpus
from stub_checks_events import EVENT_TAGS, records
from stub_collector import ASKED, LEASE, LEFT, PROFILER_PRESENT, READY, Capture, descriptors

HAS_MONITORING = sys.version_info >= (3, 12)


def _hooks():
    if HAS_MONITORING:
        return [sys.monitoring.get_tool(number) for number in range(6)]
    return [sys.getprofile()]


def _refused(stub, **options):
    nonce = stub.enter(**options)
    assert not stub.busy and stub.served == nonce and not descriptors(f"pp-stub-test-{nonce} ")
    return stub.error


def check_nothing_is_left(stub):
    before = _hooks()
    with Capture(stub) as capture:
        stub_corpus.calls()
        assert stub.busy
    assert capture.state == LEFT and capture.leave_cause == ASKED
    assert _hooks() == before and not stub.busy and not descriptors("pp-stub-test")
    with open("/proc/self/maps") as maps:
        assert "pp-stub-test" not in maps.read()
    if HAS_MONITORING:
        for number in (3, 4):
            sys.monitoring.use_tool_id(number, "x")
            assert sys.monitoring.get_events(number) == 0
            for event in (1, 2, 4, 8):
                assert sys.monitoring.register_callback(number, event, None) is None
            sys.monitoring.free_tool_id(number)
    head = [capture.ring(index)["head"] for index in range(capture.rings)]
    stub_corpus.calls()
    assert head == [capture.ring(index)["head"] for index in range(capture.rings)]


def _queue(entry):
    """Queues a call as a collector does; then runs until the interpreter has made it."""
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    assert prototype(("Py_AddPendingCall", ctypes.pythonapi))(entry, None) == 0


def check_by_the_queue_of_pending_calls(stub):
    stub.queue = _queue
    try:
        with Capture(stub) as capture:
            stub_corpus.calls()
            _queue(capture.leave_entry)
            while capture.state != LEFT:
                pass
    finally:
        stub.queue = None
    assert ("START", id(stub_corpus.calls.__code__)) in [one[1:] for one in records(capture)]
    assert not stub.busy and not any(_hooks())


def check_leaving_twice(stub):
    with Capture(stub) as capture:
        pass
    stub.call(capture.leave_entry)
    stub.call(capture.leave_entry)
    assert not stub.busy and not any(_hooks())


def check_entering_twice(stub):
    """Each nonce is served once: during its capture and afterwards."""
    with Capture(stub) as capture:
        stub.enter(nonce=capture.nonce)
        assert len(descriptors("pp-stub-test")) == 1
        stub_corpus.calls()
    stub.enter(nonce=capture.nonce)
    assert not stub.busy and not descriptors("pp-stub-test")


def check_two_captures_at_once(stub):
    with Capture(stub) as capture:
        served = stub.served
        stub.enter()
        assert stub.served == served and stub.busy and len(descriptors("pp-stub-test")) == 1
        stub_corpus.calls()
    assert ("START", id(stub_corpus.calls.__code__)) in [one[1:] for one in records(capture)]


def check_nonsense_in_the_boot_block(stub):
    for wrong in ({"records": 1000}, {"records": 128}, {"rings": 0}, {"rings": 1025}):
        assert _refused(stub, **wrong)[0] == 8, wrong


def check_a_lost_lease(stub):
    with Capture(stub) as capture:
        stub_corpus.calls()
        capture.expire()
        stub_corpus.calls()
    assert capture.state == LEFT and capture.leave_cause == LEASE, (capture.state, capture.leave_cause)
    assert not stub.busy and not any(_hooks())


def check_a_lost_lease_while_unarmed(stub):
    with Capture(stub, armed=False) as capture:
        capture.expire()
        stub_corpus.calls()
        assert capture.state == LEFT and capture.leave_cause == LEASE
    assert not any(_hooks())


def _raises_after(expire):
    expire.value = 0
    raise ValueError("mine")


def check_leaving_in_the_middle_of_an_exception(stub):
    """The lease ends just before a frame is left by an exception, which must not be lost."""
    with Capture(stub) as capture:
        lease = ctypes.c_uint64.from_buffer(capture.memory, 96)
        try:
            _raises_after(lease)
        except ValueError as error:
            assert error.args == ("mine",)
        else:
            raise AssertionError("the exception is gone")
        assert capture.state == LEFT
    assert not any(_hooks())


def check_asked_to_leave(stub):
    with Capture(stub) as capture:
        capture.ask_to_leave()
        capture.disarm()
        stub_corpus.calls()
        assert capture.state == LEFT and capture.leave_cause == ASKED
    assert not any(_hooks())


def check_asked_to_leave_while_armed(stub):
    with Capture(stub) as capture:
        capture.ask_to_leave()
        stub_corpus.calls()
        assert capture.state == READY
        capture.expire()
        stub_corpus.calls()
        assert capture.state == LEFT and capture.leave_cause == ASKED
    assert not any(_hooks())


def _in_child(function):
    """For changes that cannot be undone in a process."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def check_an_audit_hook_that_calls_python(stub):
    """Events come while the hooks are installed and removed; an expired lease must not end anything yet then.

    Runs in the newest thread: it gets a profile function first, while others still get theirs (up to 3.11)."""
    def work():
        def hook(*_):
            stub_corpus.leaf()
        hook.__cantrace__ = True  # else an audit hook gives no events
        sys.addaudithook(hook)
        with Capture(stub) as capture:
            stub_corpus.calls()
        found = records(capture, threading.get_native_id())
        assert ("START", id(stub_corpus.calls.__code__)) in [one[1:] for one in found]
        stub.enter(lease=1)
        stub_corpus.calls()
        assert not stub.busy and not any(_hooks()) and not descriptors("pp-stub-test")
        done.append(True)

    def in_newest_thread():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert done
    done = []
    _in_child(in_newest_thread)


def check_an_audit_hook_that_refuses(stub):
    """At the begin: an error, and no hook is left. At the end: our hooks are removed all the same."""
    def work():
        refusing = []

        def hook(event, _arguments):
            if refusing and event in ("sys.setprofile", "sys.monitoring.register_callback"):
                raise PermissionError(event)
        sys.addaudithook(hook)
        if sys.version_info < (3, 9):  # that version itself reports what it ignores
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        refusing.append(True)
        error = _refused(stub)
        del refusing[:]
        assert error[0] == 2 and not any(_hooks()), error
        with Capture(stub) as capture:
            stub_corpus.calls()
            refusing.append(True)
            capture.disarm()
            capture.leave()
        assert not any(_hooks()) and not stub.busy
        stub_corpus.calls()
    _in_child(work)


def check_errno_is_preserved(stub):
    location = ctypes.CDLL(None).__errno_location
    location.restype = ctypes.c_void_p
    errno = ctypes.c_int.from_address(location())
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    with Capture(stub) as capture:
        leave = prototype(capture.leave_entry)
        errno.value = 77
        leave(None)
        found = errno.value
    assert found == 77, found


def check_a_profiler_of_the_job(stub):
    """It is never replaced: we are refused, or beside it."""
    if HAS_MONITORING:
        sys.monitoring.use_tool_id(3, "somebody")
        with Capture(stub) as capture:
            assert capture.tool_id == 4 and sys.monitoring.get_tool(3) == "somebody"
            stub_corpus.calls()
        assert ("START", id(stub_corpus.leaf.__code__)) in [one[1:] for one in records(capture)]
        sys.monitoring.use_tool_id(4, "somebody else")
        assert _refused(stub)[0] == PROFILER_PRESENT
        assert [sys.monitoring.get_tool(number) for number in (3, 4)] == ["somebody", "somebody else"]
        sys.monitoring.free_tool_id(3)
        sys.monitoring.free_tool_id(4)
        return

    def theirs(*_):
        pass
    sys.setprofile(theirs)
    error, still = _refused(stub), sys.getprofile()
    sys.setprofile(None)
    assert error[0] == PROFILER_PRESENT and still is theirs, (error, still)


def check_a_profiler_on_another_thread(stub):
    if HAS_MONITORING:
        return  # sys.setprofile is independent there
    found, go, done = [], threading.Event(), threading.Event()

    def theirs(*_):
        pass

    def work():
        sys.setprofile(theirs)
        go.set()
        done.wait()
        found.append(sys.getprofile())

    thread = threading.Thread(target=work)
    thread.start()
    go.wait()
    error = _refused(stub)
    done.set()
    thread.join()
    assert error[0] == PROFILER_PRESENT and found == [theirs], (error, found)


def check_a_profiler_that_the_job_sets_meanwhile(stub):
    """It stays when we leave, and is reported."""
    seen = []

    def theirs(frame, event, _argument):
        seen.append(event)

    with Capture(stub) as capture:
        sys.setprofile(theirs)
        stub_corpus.calls()
        if not HAS_MONITORING:
            capture.leave()
            stub_corpus.calls()
            kept = sys.getprofile()
        sys.setprofile(None)
    assert seen
    if not HAS_MONITORING:
        assert kept is theirs and capture.hooks_displaced == 1, (kept, capture.hooks_displaced)
    assert not any(_hooks())
    with Capture(stub) as capture:
        sys.setprofile(None)
    assert capture.hooks_displaced == (0 if HAS_MONITORING else 1)
    with Capture(stub) as capture:
        stub_corpus.calls()
    assert capture.hooks_displaced == 0


def check_a_descriptor_that_is_somebody_elses_now(stub):
    """The job closed our descriptor and opened another file under its number: that file stays open."""
    with Capture(stub) as capture:
        (number,) = descriptors(f"pp-stub-test-{capture.nonce} ")
        os.close(number)
        reading, writing = os.pipe()
        os.dup2(writing, number)
    os.fstat(number)
    for one in {number, reading, writing}:
        os.close(one)


def check_a_file_size_limit(stub):
    """A memory file above RLIMIT_FSIZE would cause SIGXFSZ: it must give an error instead."""
    import resource
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        error = _refused(stub)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert error == (7, 2, 27), error


def check_no_address_space_left(stub):
    import resource
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), before[1]))
    try:
        error = _refused(stub, records=1 << 22)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert error == (3, 5, 12), error


def check_the_memory_is_sealed(stub):
    import fcntl
    with Capture(stub) as capture:
        (number,) = descriptors(f"pp-stub-test-{capture.nonce} ")
        assert fcntl.fcntl(number, 1034) & 7 == 7  # F_GET_SEALS: SEAL, SHRINK, GROW
        assert not os.get_inheritable(number)
        for size in (0, capture.size + 4096):
            try:
                os.ftruncate(number, size)
            except PermissionError:
                continue
            raise AssertionError(f"could be made {size} bytes")


def check_no_descriptor_left(stub):
    import resource
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        stub.enter()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert stub.error == (7, 1, 24) and not stub.busy, stub.error
    assert not any(_hooks())


def check_modules_are_as_before(stub):
    import gc
    assert "_ptrace_prof_stub" not in sys.modules
    assert not [one for one in gc.get_objects() if getattr(one, "__name__", None) == "_ptrace_prof_stub"
                and type(one).__name__ == "module"]
    if hasattr(sys, "_is_gil_enabled"):
        import sysconfig
        assert sys._is_gil_enabled() == (not sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert EVENT_TAGS

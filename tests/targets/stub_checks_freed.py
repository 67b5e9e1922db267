"""Code objects are told as they are freed (3.12 and later), by a watcher that is there for the capture alone."""
import contextlib
import ctypes
import gc
import os
import sys

from stub_collector import FREED, IS_FREE_THREADED, WATCHES_CODE, Capture

CAN_WATCH = sys.version_info >= (3, 12)
ALL_WATCHERS = 8  # CODE_MAX_WATCHERS
_nobody = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(lambda event, code: 0)


def collect():
    """Without a GIL nobody counts who has a code object: only the garbage collector finds it."""
    if IS_FREE_THREADED:
        gc.collect()


def make_and_free():
    """The address at which a code object was."""
    where = id(compile("0", "freed", "eval"))
    collect()
    return where


@contextlib.contextmanager
def all_watchers_taken():
    """Yields how many there were left."""
    add, clear = ctypes.pythonapi.PyCode_AddWatcher, ctypes.pythonapi.PyCode_ClearWatcher
    taken = []
    with contextlib.suppress(RuntimeError):
        while len(taken) < ALL_WATCHERS:
            taken.append(add(_nobody))
    try:
        yield len(taken)
    finally:
        for watcher in taken:
            clear(watcher)


def free_watchers():
    with all_watchers_taken() as count:
        return count


def check_code_is_told_as_it_is_freed(stub):
    with Capture(stub) as capture:
        assert bool(capture.u64(WATCHES_CODE)) == CAN_WATCH
        armed = make_and_free()
        capture.disarm()
        unarmed = make_and_free()
        told, named = capture.freed, capture.last_freed()
    if CAN_WATCH:
        assert armed in told and told[-1] == unarmed, (armed, unarmed, told)
        assert named[:3] == (1, 8, 5) and named[3].startswith(b"<module>") and named[4].startswith(b"freed"), named
    else:
        assert not told


def check_more_code_is_freed_than_is_kept(stub):
    with Capture(stub) as capture:
        for _ in range(10000 if CAN_WATCH else 0):
            compile("0", "freed", "eval")
        collect()
        last = make_and_free()
        if CAN_WATCH:
            assert capture.u64(FREED) >= 10000 and capture.freed[-1] == last


def check_names_are_told_as_far_as_they_fit(stub):
    """The last characters; of what is no str, nothing."""
    if IS_FREE_THREADED and sys.version_info < (3, 14):  # such code is immortal there once there was a thread
        return
    class Text(str):
        pass

    with Capture(stub) as capture:
        code = compile("0", "file", "eval")
        for name in ("n" * 20, "a" + "z" * 500, "\u0416" * 60, Text("t" * 100)) if CAN_WATCH else ():
            collect()  # what there was before
            code.replace(co_name=name, co_qualname=name)
            collect()
            _, length, _, copied, _ = capture.last_freed()
            is_told = name.isascii() and type(name) is str
            assert length == (len(name) if is_told else 0), (name, length)
            if is_told:
                assert copied[:length] == name.encode()[-len(copied):], (name, copied)


def check_the_watcher_goes_with_the_capture(stub):
    if not CAN_WATCH:
        return
    with Capture(stub):
        meanwhile = free_watchers()
    before = meanwhile if IS_FREE_THREADED else meanwhile + 1  # there it stays: it cannot be taken off safely
    assert free_watchers() == before
    with Capture(stub) as capture:
        assert free_watchers() == meanwhile
        capture.expire()
        make_and_free()  # whose call is an event
    assert free_watchers() == before


def check_without_a_watcher_it_traces_all_the_same(stub):
    if not CAN_WATCH or IS_FREE_THREADED:  # there ours is from the first capture on
        return
    with all_watchers_taken():
        with Capture(stub) as capture:
            assert not capture.u64(WATCHES_CODE)
            make_and_free()
            told = capture.u64(FREED)
            events = capture.raw(0)
    assert not told and events
    with Capture(stub) as capture:
        assert capture.u64(WATCHES_CODE)


def check_a_child_tells_nothing_of_its_code(stub):
    with Capture(stub) as capture:
        before = capture.u64(FREED)
        child = os.fork()
        if not child:
            make_and_free()
            os._exit(free_watchers() if CAN_WATCH else 0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if sys.version_info >= (3, 9) else os.waitpid(child, 0)[1]
        told = capture.freed[before:]
        expected = free_watchers() + (not IS_FREE_THREADED) if CAN_WATCH else 0
    assert not told, told
    assert status == expected, (status, expected)

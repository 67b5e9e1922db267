"""Code objects are reported when they are freed: from 3.12 on by a watcher, else through the slot of their type that
frees them. Either exists only during a capture."""
import contextlib
import ctypes
import gc
import os
import sys

from stub_collector import FREED, IS_FREE_THREADED, WATCHES_CODE, Capture

CAN_WATCH = sys.version_info >= (3, 12)
# tp_name, tp_basicsize, tp_itemsize, tp_dealloc, after the header of a variable-size object
_CODE = type(compile("0", "", "eval"))
_frees = ctypes.c_uint64.from_address(id(_CODE) + bytes.__basicsize__ - 9 + 24)  # bytes: its own hash and one byte
ALL_WATCHERS = 8  # CODE_MAX_WATCHERS
NAMES = ("co_name", "co_qualname") if sys.version_info >= (3, 11) else ("co_name",)
_nobody = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(lambda event, code: 0)


def collect():
    """Without a GIL, references to code objects are not counted: only the garbage collector finds unused ones."""
    if IS_FREE_THREADED:
        gc.collect()


def make_and_free():
    """The address of a code object that has been freed."""
    where = id(compile("0", "freed", "eval"))
    collect()
    return where


@contextlib.contextmanager
def all_watchers_taken():
    """Yields how many watchers were left."""
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
        assert capture.u64(WATCHES_CODE)
        armed = make_and_free()
        capture.disarm()
        unarmed = make_and_free()
        told, named = capture.freed, capture.last_freed()
    assert armed in told and told[-1] == unarmed, (armed, unarmed, told)
    assert named[:3] == (1, 8, 5) and named[3].startswith(b"<module>") and named[4].startswith(b"freed"), named


def check_more_code_is_freed_than_is_kept(stub):
    with Capture(stub) as capture:
        for _ in range(10000):
            compile("0", "freed", "eval")
        collect()
        last = make_and_free()
        assert capture.u64(FREED) >= 10000 and capture.freed[-1] == last


def check_names_are_told_as_far_as_they_fit(stub):
    """The last characters of a name; nothing for an object that is not a str."""
    if IS_FREE_THREADED and sys.version_info < (3, 14):  # there, such code is immortal once there was a thread
        return
    class Text(str):
        pass

    with Capture(stub) as capture:
        code = compile("0", "file", "eval")
        for name in ("n" * 20, "a" + "z" * 500, "\u0416" * 60, Text("t" * 100)):
            collect()  # removes earlier ones
            code.replace(**dict.fromkeys(NAMES, name))
            collect()
            _, length, _, copied, _ = capture.last_freed()
            is_told = name.isascii() and type(name) is str
            assert length == (len(name) if is_told else 0), (name, length)
            if is_told:
                assert copied[:length] == name.encode()[-len(copied):], (name, copied)


def check_the_word_of_the_type_goes_with_the_capture(stub):
    before = _frees.value
    with all_watchers_taken() if CAN_WATCH else contextlib.nullcontext():
        with Capture(stub):
            meanwhile = _frees.value
        assert _frees.value == before, (_frees.value, before)
        with Capture(stub) as capture:
            assert _frees.value == meanwhile
            capture.expire()
            make_and_free()  # its call is an event
        assert _frees.value == before, (_frees.value, before)
    assert (meanwhile != before) == (not CAN_WATCH or not IS_FREE_THREADED)  # there the watcher stays


def check_a_function_of_the_job_in_that_word_stays(stub):
    """That function may call ours for ever, so nothing of ours is removed, and ours is never put in front of itself."""
    if CAN_WATCH:
        return
    freed = []
    with Capture(stub) as capture:
        behind = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_frees.value)

        @ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
        def frees(code):
            freed.append(code)
            behind(code)
        ours, theirs = _frees.value, ctypes.cast(frees, ctypes.c_void_p).value
        _frees.value = theirs
        assert make_and_free() in capture.freed
    assert _frees.value == theirs and freed
    with Capture(stub) as capture:
        assert not capture.u64(WATCHES_CODE)
        make_and_free()
    assert _frees.value == theirs
    _frees.value = ours
    with Capture(stub) as capture:
        assert capture.u64(WATCHES_CODE)
    assert make_and_free() and _frees.value != ours


def check_the_watcher_goes_with_the_capture(stub):
    if not CAN_WATCH:
        return
    with Capture(stub):
        meanwhile = free_watchers()
    before = meanwhile if IS_FREE_THREADED else meanwhile + 1  # it stays there, as it cannot be removed safely
    assert free_watchers() == before
    with Capture(stub) as capture:
        assert free_watchers() == meanwhile
        capture.expire()
        make_and_free()  # its call is an event
    assert free_watchers() == before


def check_code_is_told_without_a_watcher(stub):
    if not CAN_WATCH:
        return
    with all_watchers_taken():
        with Capture(stub) as capture:
            assert capture.u64(WATCHES_CODE)
            where = make_and_free()
            told, events = capture.freed, capture.raw(0)
    assert where in told and events


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

"""The hooks of others that the interpreter calls at every call, as numbers: the same before a capture and after it.

Read from its structures, because up to 3.11 no function gives another thread's profile function.
"""
import ctypes
import sys

# PyThreadState (Include/cpython/pystate.h): c_profilefunc, c_tracefunc, c_profileobj, c_traceobj begin there; before
# them use_tracing (up to 3.9) or the address of the structure that begins with it.
_PROFILE = {(3, 8): 56, (3, 9): 56, (3, 10): 56, (3, 11): 64}
_TOOLS = range(6)


def _call(name, *arguments):
    function = getattr(ctypes.pythonapi, name)
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p] * len(arguments)
    return function(*arguments)


def _of_threads():
    offset = _PROFILE.get(sys.version_info[:2])
    thread = _call("PyInterpreterState_ThreadHead", _call("PyInterpreterState_Main")) if offset else None
    while thread:
        words = (ctypes.c_uint64 * 4).from_address(thread + offset)
        if sys.version_info >= (3, 10):
            frame = ctypes.c_uint64.from_address(thread + offset - 8).value
            is_used = ctypes.c_ubyte.from_address(frame).value
        else:
            is_used = ctypes.c_int.from_address(thread + offset - 4).value
        yield [*words, is_used]
        thread = _call("PyThreadState_Next", thread)


def _of_tools():
    for tool in _TOOLS if hasattr(sys, "monitoring") else ():
        name = sys.monitoring.get_tool(tool)
        yield [name, sys.monitoring.get_events(tool) if name else 0]


def hooks():
    """Comparable, and can be JSON. In 3.8 without eval_frame, for which there is no function."""
    evaluate = 0
    if hasattr(ctypes.pythonapi, "_PyInterpreterState_GetEvalFrameFunc"):
        evaluate = _call("_PyInterpreterState_GetEvalFrameFunc", _call("PyInterpreterState_Main"))
    return {"threads": sorted(_of_threads()), "tools": list(_of_tools()), "evaluate": evaluate}

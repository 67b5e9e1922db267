"""Facts about a libcupti, real or a double, without a GPU, as JSON. argv: its path, the question. stdin: buffers."""
import ctypes
import json
import os
import sys

from cupti_client import Client

BYTES = 16384


def version(library):
    number = ctypes.c_uint32()
    return [library.cuptiGetVersion(ctypes.byref(number)), number.value]


def strides(library):
    """How far GetNextRecord steps over a record of each kind; 0: there is no such kind."""
    found = []
    for kind in range(64):
        buffer, record = (ctypes.c_uint32 * (BYTES // 4))(*[kind] * (BYTES // 4)), ctypes.c_void_p()
        first = library.cuptiActivityGetNextRecord(buffer, BYTES, ctypes.byref(record))
        at = record.value
        second = library.cuptiActivityGetNextRecord(buffer, BYTES, ctypes.byref(record))
        found.append(0 if first or second else record.value - at)
    return found


def names(library):
    """{"domain callback": name}, and the names of results."""
    found = {}
    for domain in (1, 2):
        for callback in range(1, 1024):
            name = ctypes.c_char_p()
            if library.cuptiGetCallbackName(domain, callback, ctypes.byref(name)) == 0 and name.value:
                found["%d %d" % (domain, callback)] = name.value.decode()
    for result in range(48):
        name = ctypes.c_char_p()
        if library.cuptiGetResultString(result, ctypes.byref(name)) == 0:
            found["result %d" % result] = name.value.decode()
    return found


def walk(library):
    """The offsets of the records in each buffer of stdin."""
    client = Client(library)
    return [client.offsets(bytes.fromhex(buffer)) for buffer in json.load(sys.stdin)]


def without_driver(library):
    """Results of calls without libcuda.so.1. Calls that end the process with some versions are left out (README)."""
    pointer, size, value = ctypes.c_uint64(), ctypes.c_size_t(1), ctypes.c_uint8(1)
    record, out = ctypes.c_void_p(), ctypes.byref(pointer)
    calls = (
        ("GetVersion", (out,)), ("GetVersion", (None,)), ("GetTimestamp", (out,)), ("GetTimestamp", (None,)),
        ("Subscribe", (out, None, None)), ("Unsubscribe", (None,)), ("EnableCallback", (1, None, 2, 211)),
        ("ActivityEnable", (10,)), ("ActivityEnable", (60,)), ("ActivityDisable", (10,)), ("ActivityEnableAndDump", (8,)),
        ("ActivityFlushAll", (0,)), ("ActivityFlushPeriod", (100,)), ("SetThreadIdType", (1,)),
        ("ActivitySetAttribute", (9, ctypes.byref(size), ctypes.byref(value))),
        ("ActivityGetAttribute", (2, ctypes.byref(size), ctypes.byref(value))),
        ("ActivityGetNumDroppedRecords", (None, 0, out)), ("ActivityEnableRuntimeApi", (211, 1)),
        ("ActivityEnableDriverApi", (307, 1)), ("ActivityRegisterCallbacks", (None, None)),
        ("ActivityRegisterCallbacks", (ctypes.c_void_p(1), ctypes.c_void_p(2))),
        ("ActivityGetNextRecord", ((ctypes.c_uint32 * 64)(10), ctypes.c_size_t(256), ctypes.byref(record))),
        ("ActivityFlushAll", (1,)),
    )
    seen = []
    for name, arguments in calls:
        if hasattr(library, "cupti" + name):
            seen.append([name, getattr(library, "cupti" + name)(*arguments)])
    return {"results": seen, "threads": len(os.listdir("/proc/self/task"))}


def has(library):
    """Which of the calls that our own shim may use exist."""
    wanted = ("Subscribe", "Subscribe_v2", "Unsubscribe", "EnableCallback", "EnableDomain", "Finalize", "GetVersion",
              "GetTimestamp", "GetResultString", "GetCallbackName", "SetThreadIdType", "GetThreadIdType", "ActivityEnable",
              "ActivityEnableAndDump", "ActivityDisable", "ActivityEnableRuntimeApi", "ActivityEnableDriverApi",
              "ActivityRegisterCallbacks", "ActivityFlushAll", "ActivityFlushPeriod", "ActivityGetNextRecord",
              "ActivityGetNumDroppedRecords", "ActivitySetAttribute", "ActivityGetAttribute")
    return [name for name in wanted if hasattr(library, "cupti" + name)]


def main():
    library = ctypes.CDLL(sys.argv[1])
    sys.stdout.write(json.dumps(globals()[sys.argv[2]](library)))


main()

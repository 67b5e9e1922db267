"""A client of libcupti in the job itself, by ctypes: for tests of the doubles, and as another tool beside ours.

It hands out buffers of its own, keeps what comes back, and reads records by the layout of all versions: fields that
every version has are at the same place. `records` gives dictionaries.
"""
import ctypes
import struct
import threading

REQUEST = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t),
                           ctypes.POINTER(ctypes.c_size_t))
COMPLETE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)
MEMCPY, MEMSET, DRIVER, RUNTIME, DEVICE, CONTEXT, KERNEL, OVERHEAD, STREAM, SYNCHRONIZATION = 1, 2, 4, 5, 8, 9, 10, 17, 37, 38
GRAPH_TRACE, JIT, MARKER = 51, 52, 12
FIELDS = {  # kind: (name, offset, format)…
    KERNEL: (("start", 16, "Q"), ("end", 24, "Q"), ("device", 40, "I"), ("context", 44, "I"), ("stream", 48, "I"),
             ("grid_x", 52, "I"), ("block_x", 64, "I"), ("correlation", 92, "I"), ("name", 104, "Q"), ("node", 144, "Q"),
             ("graph", 156, "I")),
    MEMCPY: (("copy_kind", 4, "B"), ("bytes", 8, "Q"), ("start", 16, "Q"), ("end", 24, "Q"), ("stream", 40, "I"),
             ("correlation", 44, "I"), ("node", 64, "Q"), ("graph", 72, "I")),
    MEMSET: (("bytes", 8, "Q"), ("start", 16, "Q"), ("end", 24, "Q"), ("stream", 40, "I"), ("correlation", 44, "I"),
             ("node", 64, "Q"), ("graph", 72, "I")),
    SYNCHRONIZATION: (("type", 4, "I"), ("start", 8, "Q"), ("end", 16, "Q"), ("correlation", 24, "I"), ("stream", 32, "I")),
    DEVICE: (("name", 136, "Q"), ("major", 104, "I"), ("warp", 32, "I"), ("warps", 52, "I"), ("slice", 145, "B"),
             ("gpu_instance", 152, "I"), ("compute_instance", 156, "I"), ("slice_uuid", 160, "Q")),
    CONTEXT: (("context", 4, "I"), ("device", 8, "I"), ("null_stream", 14, "H")),
    STREAM: (("context", 4, "I"), ("stream", 8, "I")),
    GRAPH_TRACE: (("correlation", 4, "I"), ("start", 8, "Q"), ("end", 16, "Q"), ("device", 24, "I"), ("graph", 28, "I"),
                  ("context", 32, "I"), ("stream", 36, "I")),
    JIT: (("entry", 4, "I"), ("operation", 8, "I"), ("device", 12, "I"), ("start", 16, "Q"), ("end", 24, "Q"),
          ("correlation", 32, "I")),
    MARKER: (("flags", 4, "I"), ("timestamp", 8, "Q"), ("number", 16, "I"), ("object", 20, "I"), ("process", 24, "I"),
             ("thread", 28, "I"), ("name", 40, "Q"), ("domain", 48, "Q")),
    OVERHEAD: (("overhead", 4, "I"), ("start", 24, "Q"), ("end", 32, "Q")),
}
FIELDS[RUNTIME] = FIELDS[DRIVER] = (("cbid", 4, "I"), ("start", 8, "Q"), ("end", 16, "Q"), ("process", 24, "I"),
                                      ("thread", 28, "I"), ("correlation", 32, "I"))


class Parameters(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("old_name", ctypes.c_char_p),
                ("old_size", ctypes.c_size_t), ("several", ctypes.c_uint64)]


class Client:
    def __init__(self, library, size=1 << 16, declines=0):
        """`declines`: how many requests for a buffer get none."""
        self.library, self.size, self.declines = library, size, declines
        self.subscriber = ctypes.c_void_p()
        self.buffers, self.requests, self.calls, self.old_name = [], [], [], None
        self.completed_on = set()
        self._given = {}
        self._callbacks = REQUEST(self._request), COMPLETE(self._complete), CALLBACK(self._called)
        library.cuptiActivityGetNextRecord.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        for name in ("cuptiEnableCallback", "cuptiEnableDomain"):
            getattr(library, name).argtypes = [ctypes.c_uint32, ctypes.c_void_p] + [ctypes.c_uint32] * (
                2 if name == "cuptiEnableCallback" else 1)
        library.cuptiUnsubscribe.argtypes = [ctypes.c_void_p]

    def _request(self, buffer, size, records):
        self.requests.append(threading.get_native_id())
        if self.declines:
            self.declines -= 1
            buffer[0], size[0] = None, 0
            return
        memory = ctypes.create_string_buffer(self.fill * (self.size + 8), self.size + 8)
        address = (ctypes.addressof(memory) + 7) & ~7
        self._given[address] = memory
        buffer[0], size[0], records[0] = address, self.size, 0

    def _complete(self, _context, _stream, buffer, size, valid):
        self.completed_on.add(threading.get_native_id())
        if buffer not in self._given:
            self.foreign += 1  # from a client whose buffers were taken over
            return
        self.buffers.append(ctypes.string_at(buffer, valid))
        del self._given[buffer]

    def _called(self, _user, domain, callback, _data):
        self.calls.append((domain, callback))
        if self.on_call:
            self.on_call(domain, callback, ctypes.c_uint32.from_address(_data).value)

    on_call, fill, foreign = None, b"\0", 0

    def subscribe(self, name="test", size=None):
        if not hasattr(self.library, "cuptiSubscribe_v2"):
            return self.library.cuptiSubscribe(ctypes.byref(self.subscriber), self._callbacks[2], None)
        old = ctypes.create_string_buffer(64)
        parameters = Parameters(size or self._parameters_size(), name.encode(), ctypes.addressof(old), 64, 0)
        result = self.library.cuptiSubscribe_v2(ctypes.byref(self.subscriber), self._callbacks[2], None,
                                                ctypes.byref(parameters))
        self.old_name = old.value.decode()
        return result

    def _version(self):
        version = ctypes.c_uint32()
        self.library.cuptiGetVersion(ctypes.byref(version))
        return version.value

    def _parameters_size(self):
        return 40 if self._version() >= 130300 else 32

    def register(self):
        return self.library.cuptiActivityRegisterCallbacks(self._callbacks[0], self._callbacks[1])

    def attach(self, kinds=(RUNTIME, DRIVER, MEMCPY, MEMSET, SYNCHRONIZATION, OVERHEAD, KERNEL)):
        """Subscribes, registers and enables all kinds; returns the results of these steps."""
        results = [self.subscribe(), self.library.cuptiSetThreadIdType(1), self.register()]
        results += [self.library.cuptiActivityEnableAndDump(kind) for kind in (DEVICE, CONTEXT, STREAM)]
        return results + [self.library.cuptiActivityEnable(kind) for kind in kinds]

    def detach(self, kinds=(RUNTIME, DRIVER, MEMCPY, MEMSET, SYNCHRONIZATION, OVERHEAD, KERNEL), forced=1):
        results = [self.library.cuptiActivityDisable(kind) for kind in kinds]
        return results + [self.library.cuptiActivityFlushAll(forced), self.library.cuptiUnsubscribe(self.subscriber)]

    def dropped(self):
        count = ctypes.c_size_t()
        self.library.cuptiActivityGetNumDroppedRecords(None, 0, ctypes.byref(count))
        return count.value

    def offsets(self, buffer):
        """The offsets at which the library finds records."""
        memory, record, found = ctypes.create_string_buffer(buffer, len(buffer)), ctypes.c_void_p(), []
        while self.library.cuptiActivityGetNextRecord(memory, len(buffer), ctypes.byref(record)) == 0:
            found.append(record.value - ctypes.addressof(memory))
        return found

    def records(self, kind=None):
        return [one for buffer in self.buffers for one in (self._record(buffer, at) for at in self.offsets(buffer))
                if kind is None or one["kind"] == kind]

    @staticmethod
    def _record(buffer, at):
        (kind,) = struct.unpack_from("I", buffer, at)
        record = {"kind": kind, **{name: struct.unpack_from(form, buffer, at + offset)[0]
                                   for name, offset, form in FIELDS.get(kind, ())}}
        if record.get("name"):
            record["name"] = ctypes.string_at(record["name"]).decode()
        return record

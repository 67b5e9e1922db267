"""Like traced.py, but without any unused byte behind the writable segments of its loaded files."""
import ctypes

PAGE = 4096
LOADED, WRITABLE = 1, 2  # PT_LOAD, PF_W


class _Segment(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("offset", ctypes.c_uint64),
                ("address", ctypes.c_uint64), ("physical", ctypes.c_uint64), ("in_file", ctypes.c_uint64),
                ("size", ctypes.c_uint64), ("alignment", ctypes.c_uint64)]


class _Object(ctypes.Structure):
    _fields_ = [("base", ctypes.c_uint64), ("name", ctypes.c_char_p), ("segments", ctypes.POINTER(_Segment)),
                ("count", ctypes.c_uint16)]


def _use(address, size):
    before = ctypes.string_at(address, size)
    ctypes.memmove(address, bytes(byte or 0xFF for byte in before), size)


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Object), ctypes.c_size_t, ctypes.c_void_p)
def _fill(loaded, _size, _argument):
    one = loaded.contents
    if (one.name or b"").rpartition(b"/")[2].startswith(b"ld-"):
        return 0  # uses the memory behind its own
    for segment in one.segments[:one.count]:
        end = one.base + segment.address + segment.size
        if segment.kind == LOADED and segment.flags & WRITABLE and end % PAGE:
            _use(end, PAGE - end % PAGE)
    return 0


ctypes.CDLL(None).dl_iterate_phdr(_fill, None)
import traced  # noqa: E402, F401

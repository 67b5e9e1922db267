"""Acts as the collector for the tracer stub, inside the target: loads it, arms it, reads its rings, has it leave.

By ctypes it does what the real collector does from outside by writing memory. The image of the stub and the names in
its boot block come from the test (PP_STUB_TEST), the layout of the interpreter from the pact.
"""
import _imp
import base64
import ctypes
import importlib.machinery
import itertools
import json
import os
import re
import struct
import sys
import zlib

import pact

GIVEN = json.loads(zlib.decompress(base64.b64decode(os.environ["PP_STUB_TEST"]))) if "PP_STUB_TEST" in os.environ else {}
MAGIC = struct.pack("<2Q", 0x626f6f7470747261, 0x63652d70726f6600)
PAGE = 4096
ABSENT = 0xFFFFFFFF
TAG_BITS = GIVEN.get("tag_bits", 0)
TAG_MASK = (1 << TAG_BITS) - 1
TAGS = {int(tag): name for tag, name in GIVEN.get("tags", {}).items()}
READY, LEFT, FAILED = 1, 2, 3
LIVE, ENDED = 2, 3
PROFILER_PRESENT = 1
ASKED, LEASE = 1, 2
FOREVER = (1 << 64) - 1
C_CALLS, MUTES = 1, 2  # pp_boot_flag
MUTE_BITS = 14
FRAME_COST, CALL_COST = 176, 192
WATCHES_CODE, FREED, FREED_ENTRIES, FREED_SIZE = 208, 216, 8192, 128
# pp_boot, as in attach/abi/boot.h.
ERROR, BUSY, ENTER = 80, 72, 64
SERVED, NAME, FUNCTIONS, OFFSETS, BOOT_SIZE = 96, 104, 144, 528, 696
LEASE_AT = 96  # in pp_channel
TAIL, HOLDS, LAPS = 64, 144, 256  # in pp_ring, and after it
CHUNK = 1 << 14
IS_FREE_THREADED = "t" in getattr(sys, "abiflags", "")
_OTHER_NAMES = {"PyThreadState_GetUnchecked": "_PyThreadState_UncheckedGet"}
_nonces = itertools.count(1)


def _address(name):
    for library in (ctypes.pythonapi, ctypes.CDLL(None)):
        for spelling in (name, _OTHER_NAMES.get(name)):
            try:
                return ctypes.addressof(ctypes.c_char.in_dll(library, spelling))
            except (ValueError, TypeError):
                pass
    return 0


def told_layout():
    """Asks the test for the layout of this very interpreter."""
    pact.say("layout")
    return {name: int(value) for name, value in (line.split() for line in pact.hear().splitlines())}


_libc = ctypes.CDLL(None)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def _word(address):
    return ctypes.c_uint64.from_address(address)


class Stub:
    """The stub in this process, loaded at the first capture and resident from then on."""

    def __init__(self, layout):
        self.layout = layout
        self.image = bytearray(base64.b64decode(GIVEN["image"]))
        self.boot_in_image = self.image.index(MAGIC)
        self.boot = None  # address, once loaded
        self.queue = None  # how to have a function called, other than at once

    def boot_bytes(self, nonce, name, c_calls=False, rings=16, records=1 << 16, lease=FOREVER, pid=None, clock=0,
                   mutes=False, longest_hold=0):
        functions = [_address(function) for function in GIVEN["functions"]]
        layout = self.layout
        offsets = [layout[field] for field in GIVEN["offsets"]]
        head = struct.pack("<16sIIiIIIIIQQ", MAGIC, GIVEN["abi_version"], layout["python_traits"], pid or os.getpid(),
                           C_CALLS * c_calls + MUTES * mutes, rings, records, clock, layout["frame_tag_mask"], nonce, lease)
        return head, struct.pack("<40s", name.encode()), struct.pack("<48Q", *(functions + [0] * (48 - len(functions)))) + \
            struct.pack("<40IQ", *(offsets + [ABSENT] * (40 - len(offsets))), longest_hold)

    def enter(self, nonce=None, name=None, **options):
        """Enters as a collector does: the first time it loads the stub, later it queues pp_enter. Returns the nonce."""
        nonce = nonce or next(_nonces)
        head, label, tables = self.boot_bytes(nonce, name or f"pp-stub-test-{nonce}", **options)
        if self.boot is None:
            self._load(head, label, tables)
        else:
            ctypes.memmove(self.boot, head, len(head))
            ctypes.memmove(self.boot + NAME, label + tables, len(label + tables))
            (self.queue or self.call)(_word(self.boot + ENTER).value)
            while self.queue and self.served != nonce:
                pass
        return nonce

    def _load(self, head, label, tables):
        at = self.boot_in_image
        self.image[at:at + len(head)] = head
        self.image[at + NAME:at + BOOT_SIZE] = label + tables
        file = os.memfd_create("pp-stub-image")
        os.write(file, self.image)
        spec = importlib.machinery.ModuleSpec("_ptrace_prof_stub", None, origin=f"/proc/self/fd/{file}")
        _imp.exec_dynamic(_imp.create_dynamic(spec))
        os.close(file)
        self.boot = self._find_boot()

    def _find_boot(self):
        with open("/proc/self/maps") as maps:
            for line in maps:
                if "pp-stub-image" in line and " rw-p " in line:
                    start, end = (int(part, 16) for part in re.match(r"(\w+)-(\w+)", line).groups())
                    at = ctypes.string_at(start, end - start).find(MAGIC)
                    if at >= 0:
                        return start + at
        raise AssertionError("the stub's boot block is nowhere")

    def call(self, entry):
        """Calls as the pending-call queue does: with the GIL held."""
        result = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(entry)(None)
        assert result == 0, result

    @property
    def busy(self):
        return _word(self.boot + BUSY).value

    @property
    def error(self):
        return struct.unpack("<IIi", ctypes.string_at(self.boot + ERROR, 12))

    @property
    def served(self):
        return _word(self.boot + SERVED).value


def descriptors(name):
    found = []
    for entry in os.listdir("/proc/self/fd"):
        try:
            if name in os.readlink(f"/proc/self/fd/{entry}"):
                found.append(int(entry))
        except OSError:
            pass
    return found


class Capture:
    """with Capture(stub, …) as capture: … armed in here …; afterwards capture.raw() has the records."""

    def __init__(self, stub, armed=True, **options):
        self.stub, self.arm_it, self.options = stub, armed, options

    def __enter__(self):
        nonce = self.nonce = self.stub.enter(**self.options)
        name = f"memfd:pp-stub-test-{nonce} "
        found = descriptors(name)
        assert len(found) == 1, (found, self.stub.error)
        file = os.open(f"/proc/self/fd/{found[0]}", os.O_RDWR)
        try:
            self.size = os.fstat(file).st_size
            self.address = _libc.mmap(None, self.size, 3, 1, file, 0)
            assert _libc.madvise(self.address, self.size, 10) == 0  # MADV_DONTFORK: a collector is another process
            self.memory = (ctypes.c_char * self.size).from_address(self.address)
        finally:
            os.close(file)
        self.rings, self.records = struct.unpack_from("<II", self.memory, 12)
        self.private, self.leave_entry, size = struct.unpack_from("<3Q", self.memory, 32)
        self.freed_at = PAGE * (1 + self.rings) + 16 * self.rings * self.records
        self.mutes_at = self.freed_at + FREED_SIZE * FREED_ENTRIES
        assert size == self.size == self.mutes_at + (16 << MUTE_BITS) * self.options.get("mutes", False)
        assert self.u32(64) == READY and self.u64(24) == nonce
        self._armed = _word(self.private + 8)
        if self.arm_it:
            self.arm()
        return self

    def __exit__(self, *_):
        if self.u32(64) == READY:
            self.disarm()
            self.leave()
        self.memory = ctypes.string_at(self.address, self.size)
        _libc.munmap(self.address, self.size)

    def u32(self, at):
        return struct.unpack_from("<I", self.memory, at)[0]

    def u64(self, at):
        return struct.unpack_from("<Q", self.memory, at)[0]

    def put(self, at, value):
        struct.pack_into("<Q", self.memory, at, value)

    @property
    def state(self):
        return self.u32(64)

    @property
    def leave_cause(self):
        return self.u32(80)

    @property
    def tool_id(self):
        return self.u32(56)

    @property
    def hooks_displaced(self):
        return self.u32(84)

    @property
    def events_without_ring(self):
        return self.u64(88)

    def ask_for_self(self, *codes):
        for index, code in enumerate(codes):
            self.put(112 + 8 * index, id(code))

    def mute(self, code, only_begins=False, check=None):
        """From now on no events of this code object are recorded."""
        fields = id(code.co_name) * 0x9e3779b97f4a7c15 ^ id(code.co_filename) * 0xc2b2ae3d27d4eb4f ^ code.co_firstlineno << 2
        place = (id(code) * 0x9e3779b97f4a7c15 & FOREVER) >> (64 - MUTE_BITS)
        while self.u64(self.mutes_at + 16 * place) not in (0, id(code)):
            place = (place + 1) % (1 << MUTE_BITS)
        self.put(self.mutes_at + 16 * place + 8, (fields & FOREVER & ~3 | only_begins) if check is None else check)
        self.put(self.mutes_at + 16 * place, id(code))

    @property
    def freed(self):
        """Addresses of code objects, in the order in which they were freed; only the last ones."""
        count = self.u64(FREED)
        return [self.u64(self.freed_at + FREED_SIZE * (number % FREED_ENTRIES) + 8)
                for number in range(max(0, count - FREED_ENTRIES), count)]

    def last_freed(self):
        """(first line, lengths of its name and file, their last characters)"""
        at = self.freed_at + FREED_SIZE * ((self.u64(FREED) - 1) % FREED_ENTRIES)
        return struct.unpack_from("<iHH48s56s", self.memory, at + 16)

    def cost(self, at):
        """FRAME_COST, CALL_COST: (events, time)"""
        return self.u64(at), self.u64(at + 8)

    def touch(self):
        """Allocates the pages of all records, as a collector does before it arms."""
        at = PAGE * (1 + self.rings)
        ctypes.memset(self.address + at, 0, self.size - at)

    def arm(self):
        self._armed.value = 1

    def disarm(self):
        self._armed.value = 0

    def expire(self):
        self.put(LEASE_AT, 0)

    def ask_to_leave(self):
        self.put(104, 1)

    def leave(self):
        self.stub.call(self.leave_entry)
        assert self.state == LEFT, self.state

    def ring(self, index):
        head, full_at, lost, _, lost_total, _, _, unarmed = struct.unpack_from("<5Q2iQ", self.memory, PAGE * (1 + index))
        tail = self.u64(PAGE * (1 + index) + 64)
        state, tid, _, holds, held_time = struct.unpack_from("<Ii3Q", self.memory, PAGE * (1 + index) + 128)
        return {"head": head, "tail": tail, "full_at": full_at, "lost": lost, "lost_total": lost_total,
                "unarmed": unarmed, "state": state, "tid": tid, "holds": holds, "held_time": held_time}

    def free(self, index):
        struct.pack_into("<I", self.memory, PAGE * (1 + index) + 128, 0)

    def index_of(self, tid):
        return [index for index in range(self.rings) if self.ring(index)["tid"] == tid]

    def words(self, index):
        """head and tail of a ring, which can be read and set without any call in Python."""
        at = PAGE * (1 + index)
        return ctypes.c_uint64.from_buffer(self.memory, at), ctypes.c_uint64.from_buffer(self.memory, at + 64)

    def raw(self, index, start=None, end=None, memory=None):
        """The records of a ring from its tail to its head: (time, tag name, value)."""
        ring = self.ring(index)
        base = PAGE * (1 + self.rings) + 16 * self.records * index
        found = []
        for at in range(ring["tail"] if start is None else start, ring["head"] if end is None else end):
            place = self.place(index, at)
            if place is not None:
                when, value = struct.unpack_from("<QQ", memory or self.memory, base + 16 * place)
                found.append((when >> TAG_BITS, TAGS[when & TAG_MASK], value))
        return found

    def place(self, index, at):
        """Where in its ring a record is; None: no record can be there, at the end of a chunk."""
        if self.records <= 4 * CHUNK:
            return at % self.records
        chunk = max(CHUNK, self.records // 512)
        lap = self.u32(PAGE * (1 + index) + LAPS + 4 * (at // chunk % (self.records // chunk)))
        begun = self.ring(index)["head"] // chunk > at // chunk
        return None if begun and at % chunk >= chunk - (lap >> 16) else (lap & 0xffff) * chunk + at % chunk

    def drain(self, index):
        found = self.raw(index)
        self.put(PAGE * (1 + index) + 64, self.ring(index)["head"])
        return found

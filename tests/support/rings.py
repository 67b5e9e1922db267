"""The memory that a traced target shares with its collector, read by a third process through /proc."""
import contextlib
import mmap
import os
import struct

_PAGE = 4096
_NAME = "ptrace-prof-ring"
_TORCH_NAME = "ptrace-prof-ops"
_RING_COUNT, _CLOCK, _HOLDS = 12, 20, 144  # the first two are in pp_channel, the last in pp_ring (attach/abi/channel.h)
MONOTONIC = 1  # pp_clock


_TORCH_ROW = 136  # pp_torch_arena.row (attach/abi/torch_arena.h)


def _descriptor(pid, name=_NAME):
    for entry in os.listdir(f"/proc/{pid}/fd"):
        try:
            if name in os.readlink(f"/proc/{pid}/fd/{entry}"):
                return f"/proc/{pid}/fd/{entry}"
        except FileNotFoundError:
            pass
    return None


def are_mapped(pid):
    with open(f"/proc/{pid}/maps") as file:
        return _NAME in file.read()


@contextlib.contextmanager
def _memory(pid):
    """None if the process is not traced."""
    path = _descriptor(pid)
    if path is None:
        yield None
        return
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        yield memory


def clock(pid):
    with _memory(pid) as memory:
        return struct.unpack_from("<I", memory, _CLOCK)[0] if memory else None


def holds(pid):
    """How often its threads have waited for room so far; 0 if the process is not traced."""
    with _memory(pid) as memory:
        if memory is None:
            return 0
        (rings,) = struct.unpack_from("<I", memory, _RING_COUNT)
        return sum(struct.unpack_from("<Q", memory, _PAGE * (1 + ring) + _HOLDS)[0] for ring in range(rings))


def set_torch_row(pid, offsets):
    """Feeds the torch hook a row: where it is to find the flags, function_index, sequence, inputs, forward_thread,
    handle and is_async of an at::RecordFunction."""
    with open(_descriptor(pid, _TORCH_NAME), "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        struct.pack_into("<7I", memory, _TORCH_ROW + 4, *offsets)
        struct.pack_into("<I", memory, _TORCH_ROW, 1)

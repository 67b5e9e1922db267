"""Reads stacks and their number of samples from a stream of Perfetto TracePackets that ptrace-prof wrote.

A stream that ends inside a packet is a valid, shorter trace. An interned ID is valid in one sequence until that clears
its state; a sequence is one thread.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ._failure import failure
from ._proto import extension_pb2, perfetto_pb2

_PACKET_TAG = 0x0A  # field 1 of Trace, length-delimited
_CLEARED = perfetto_pb2.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED


class Frame(NamedTuple):
    function: str
    file: str
    line: int        # the line that was executed; 0: unknown
    first_line: int  # the first line of the function; 0: unknown
    is_marker: bool  # a mark of ptrace-prof, "[truncated]", not a function


Stack = tuple[Frame, ...]  # innermost first; empty: no Python frame


def packets(data: bytes) -> Iterator[perfetto_pb2.TracePacket]:
    """Yields the whole packets. Raises DataLoss where `data` is no trace."""
    at, end = 0, len(data)
    while at < end:
        if data[at] != _PACKET_TAG:
            raise failure("DATA_LOSS", f"this is not a trace: no packet begins at byte {at}")
        at, length, shift = at + 1, 0, 0
        while at < end:
            byte = data[at]
            at, length, shift = at + 1, length | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                break
            if shift > 63:
                raise failure("DATA_LOSS", f"this is not a trace: the packet length before byte {at} is invalid")
        else:
            return  # cut inside the length
        if at + length > end:
            return  # cut inside the packet
        yield perfetto_pb2.TracePacket.FromString(data[at:at + length])
        at += length


def our_packets(data: bytes) -> Iterator[tuple[perfetto_pb2.TracePacket, extension_pb2.Extension]]:
    """Yields each packet and ptrace-prof's extension of it. Raises DataLoss where `data` is no trace of ptrace-prof."""
    is_ours = False
    for packet in packets(data):
        extension = packet.Extensions[extension_pb2.ptrace_prof]
        is_ours = is_ours or extension.HasField("header")
        if not is_ours:
            raise failure("DATA_LOSS", "this is not a ptrace-prof trace: it does not begin with the ptrace-prof header")
        yield packet, extension


class _Sequence:
    def __init__(self) -> None:
        self.has_thread = False
        self.clear()

    def clear(self) -> None:
        self.functions: dict[int, str] = {}
        self.files: dict[int, str] = {}
        self.frames: dict[int, tuple[Frame, ...]] = {}
        self.stacks: dict[int, Stack] = {}

    def define(self, interned: perfetto_pb2.InternedData, extension: extension_pb2.Extension) -> None:
        for text in interned.function_names:
            self.functions[text.iid] = text.str.decode("utf-8", "replace")
        for text in interned.source_paths:
            self.files[text.iid] = text.str.decode("utf-8", "replace")
        extras = {extra.iid: extra for extra in extension.frames}
        for frame in interned.frames:
            self.frames[frame.iid] = self._frame(frame, extras.get(frame.iid))
        for stack in interned.callstacks:
            frames: list[Frame] = []
            for iid in reversed(stack.frame_ids):
                frames.extend(self.frames.get(iid, ()))
            self.stacks[stack.iid] = tuple(frames)

    def _frame(self, frame: perfetto_pb2.Frame, extra: extension_pb2.FrameExtra | None) -> tuple[Frame, ...]:
        kind = extra.kind if extra else extension_pb2.FrameExtra.KIND_PYTHON
        if kind == extension_pb2.FrameExtra.KIND_NO_STACK:
            return ()
        function = self.functions.get(frame.function_name_id, "?" if frame.function_name_id else "")
        file = self.files.get(frame.source_path_iid, "?" if frame.source_path_iid else "")
        return (Frame(function, file, frame.line_number, extra.first_line if extra else 0,
                      kind != extension_pb2.FrameExtra.KIND_PYTHON),)


def count_stacks(data: bytes) -> dict[Stack, int]:
    """Returns the samples of every stack, over all threads. Raises DataLoss where `data` is no trace of ptrace-prof."""
    sequences: dict[int, _Sequence] = {}
    found: Counter[Stack] = Counter()
    for packet, extension in our_packets(data):
        sequence = sequences.setdefault(packet.trusted_packet_sequence_id, _Sequence())
        if packet.sequence_flags & _CLEARED:
            sequence.clear()
        if packet.HasField("interned_data"):
            sequence.define(packet.interned_data, extension)
        if packet.track_descriptor.HasField("thread"):
            sequence.has_thread = True
        if sequence.has_thread and packet.HasField("streaming_profile_packet"):
            for iid, count in Counter(packet.streaming_profile_packet.callstack_iid).items():
                if iid in sequence.stacks:
                    found[sequence.stacks[iid]] += count
        if extension.HasField("thread_end"):
            del sequences[packet.trusted_packet_sequence_id]
    return found

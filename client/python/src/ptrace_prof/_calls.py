"""Sums up the calls of a trace of mode "trace" by function: number of calls, self time and total time.

The slices of a thread nest: every begin and end belongs to the innermost open slice, whichever track draws it. Where
the tracer measured its own cost, it is subtracted: each begin and each end costs an event, half of it in the call and
half in its caller. The numbers are those of `ptrace-prof export --format text`.
"""
from __future__ import annotations

from typing import Optional

from ._proto import extension_pb2, perfetto_pb2
from ._stacks import our_packets
from ._table import Place, Row

_CLEARED = perfetto_pb2.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
_BEGIN = perfetto_pb2.TrackEvent.TYPE_SLICE_BEGIN
_END = perfetto_pb2.TrackEvent.TYPE_SLICE_END
_SEQUENCE_CLOCK = 64
_STEP = "ProfilerStep#"
_PYTHON = extension_pb2.FrameExtra.KIND_PYTHON


class _Path:
    """A function at the end of one chain of callers."""

    def __init__(self, place: Place, kind: int, caller: Optional[_Path]) -> None:
        self.place = place
        self.kind = kind
        self.caller = caller
        self.callees: dict[Place, _Path] = {}
        self.calls = 0
        self.stretches = 0  # begins of slices: calls, resumed generators, and what ran when the capture began
        self.time = 0       # self time, ns

    def callee(self, place: Place, kind: int) -> _Path:
        path = self.callees.get(place)
        if path is None:
            path = self.callees[place] = _Path(place, kind, self)
        return path


class _Thread:
    def __init__(self) -> None:
        self.root = _Path(("", "", 0), _PYTHON, None)
        self.open = self.root
        self.last = 0
        self.steps: Optional[int] = None  # the track that marks training steps

    def event(self, event: perfetto_pb2.TrackEvent, when: int, names: dict[int, tuple[Place, int]]) -> None:
        if event.track_uuid and (event.track_uuid == self.steps or event.name.startswith(_STEP)):
            self.steps = event.track_uuid
            return
        when = max(when, self.last)
        self.open.time += when - self.last
        self.last = when
        if event.type == _BEGIN and event.name_iid in names:
            self.open = self.open.callee(*names[event.name_iid])
            self.open.stretches += 1
            self.open.calls += not event.category_iids  # a category marks what was resumed, ran before, or is a gap
        elif event.type == _END and self.open.caller is not None:
            self.open = self.open.caller


class _Sequence:
    def __init__(self) -> None:
        self.clock = 0
        self.unit = 1  # ns
        self.names: dict[int, tuple[Place, int]] = {}
        self.thread: Optional[_Thread] = None

    def define(self, packet: perfetto_pb2.TracePacket, extension: extension_pb2.Extension) -> None:
        if packet.sequence_flags & _CLEARED:
            self.names = {}
        for clock in packet.clock_snapshot.clocks:
            if clock.clock_id == _SEQUENCE_CLOCK:
                self.clock, self.unit = clock.timestamp, clock.unit_multiplier_ns or 1
        kinds = {called.iid: called.kind for called in extension.called}
        for location in packet.interned_data.source_locations:
            place = (location.function_name, location.file_name, location.line_number)
            self.names[location.iid] = place, kinds.get(location.iid, _PYTHON)


def _read(data: bytes) -> tuple[list[_Thread], extension_pb2.Accounting]:
    """Returns the threads, and the collector's counters."""
    threads: dict[int, _Thread] = {}  # key: the UUID of the track
    sequences: dict[int, _Sequence] = {}
    accounting = extension_pb2.Accounting()
    for packet, extension in our_packets(data):
        sequence = sequences.setdefault(packet.trusted_packet_sequence_id, _Sequence())
        if packet.HasField("interned_data") or packet.HasField("clock_snapshot"):
            sequence.define(packet, extension)
        if packet.trace_packet_defaults.HasField("track_event_defaults"):
            track = packet.trace_packet_defaults.track_event_defaults.track_uuid
            sequence.thread = threads.setdefault(track, _Thread())
        if packet.HasField("track_event"):
            sequence.clock += packet.timestamp
            if sequence.thread is not None:
                sequence.thread.event(packet.track_event, sequence.clock * sequence.unit, sequence.names)
        if extension.HasField("accounting"):
            accounting = extension.accounting
        if extension.HasField("thread_end"):
            del sequences[packet.trusted_packet_sequence_id]
    return list(threads.values()), accounting


def _paths(threads: list[_Thread]) -> list[_Path]:
    """Returns all paths, callers before callees."""
    found: list[_Path] = []
    waiting = [thread.root for thread in threads]
    while waiting:
        path = waiting.pop()
        if path.caller is not None:
            found.append(path)
        waiting.extend(path.callees.values())
    return found


def _corrected(paths: list[_Path], accounting: extension_pb2.Accounting) -> dict[_Path, int]:
    """Returns the self time of each path, ns, without the tracer's cost; never below zero."""
    costs: dict[int, float] = {extension_pb2.FrameExtra.KIND_MARKER: 0.0,
                               extension_pb2.FrameExtra.KIND_C: accounting.c_event_cost_ns}
    taken: dict[_Path, float] = {}
    for path in paths:
        cost = costs.get(path.kind, accounting.event_cost_ns)
        for one in (path, path.caller):
            if one is not None:
                taken[one] = taken.get(one, 0.0) + path.stretches * cost
    return {path: max(0, round(path.time - taken[path])) for path in paths}


def call_rows(data: bytes, limit: Optional[int]) -> list[Row]:
    """Returns the rows with the most self time first; none where the trace has no calls.

    limit: rows at most; None: all. Raises DataLoss where `data` is no trace of ptrace-prof.
    """
    threads, accounting = _read(data)
    paths = _paths(threads)
    times = _corrected(paths, accounting)
    sums: dict[Place, list[int]] = {}  # calls, self, total, raw self, raw total
    for path in paths:
        own = sums.setdefault(path.place, [0, 0, 0, 0, 0])
        own[0] += path.calls
        own[1] += times[path]
        own[3] += path.time
        places = set()
        one: Optional[_Path] = path
        while one is not None and one.caller is not None:
            places.add(one.place)
            one = one.caller
        for place in places:
            of_place = sums.setdefault(place, [0, 0, 0, 0, 0])
            of_place[2] += times[path]
            of_place[4] += path.time
    everything = max(sum(times.values()), 1)
    ordered = sorted(((place, one) for place, one in sums.items() if one[0] or one[4]),
                     key=lambda item: (-item[1][1], -item[1][2], item[0]))
    return [Row(*place, 0, 0, one[1] / everything, one[2] / everything, one[0], *(ns / 1e9 for ns in one[1:]))
            for place, one in ordered[:limit]]

"""Assembles a trace from chunks and follows the events of a Record call. No I/O: both clients use it."""
from __future__ import annotations

from collections.abc import Callable
from typing import Optional

import google_crc32c

from . import _convert
from ._proto import capture_service_pb2
from .errors import DataLoss, PtraceProfError
from .model import Capture, State
from .trace import Trace


class TraceAssembler:
    """The bytes of a trace from its beginning; checks each chunk before it adds it."""

    def __init__(self, begun: bytes = b"") -> None:
        self._data = bytearray(begun)
        self.last = False  #: the last chunk has arrived

    @property
    def size(self) -> int:
        return len(self._data)

    def add(self, chunk: capture_service_pb2.TraceChunk) -> None:
        """Raises DataLoss, and does not add the chunk, where its offset or checksum is wrong."""
        if chunk.offset != self.size:
            raise DataLoss(f"the trace has a gap: byte {self.size} was expected, byte {chunk.offset} arrived")
        if google_crc32c.value(chunk.data) != chunk.crc32c:
            raise DataLoss(f"bytes {self.size} to {self.size + len(chunk.data)} of the trace arrived damaged "
                           f"(CRC-32C {google_crc32c.value(chunk.data):08x}, not {chunk.crc32c:08x})",
                           remedy="read the trace again: with keep=True it is still on the server")
        self._data += chunk.data
        self.last = chunk.last

    def trace(self, capture: Optional[Capture] = None) -> Trace:
        return Trace(bytes(self._data), capture)


class Recorder:
    """Takes the events of one Record call.

    on_progress: called with each state of the capture that arrives.
    """

    def __init__(self, on_progress: Optional[Callable[[Capture], object]] = None) -> None:
        self.capture: Optional[Capture] = None
        self._on_progress = on_progress
        self._chunks = TraceAssembler()

    def take(self, event: capture_service_pb2.RecordEvent) -> None:
        """Raises DataLoss, and what on_progress raises."""
        if event.WhichOneof("event") == "chunk":
            try:
                self._chunks.add(event.chunk)
            except DataLoss as error:
                raise self.spoilt(error) from None
            return
        self.capture = _convert.capture(event.capture)
        if self._on_progress is not None:
            self._on_progress(self.capture)

    def spoilt(self, error: PtraceProfError) -> PtraceProfError:
        """Returns the error with the trace and the capture as they were before it."""
        error.capture = self.capture
        error.trace = self._chunks.trace(self.capture) if self._chunks.size else None
        return error

    def finish(self) -> Trace:
        """Returns the trace after the last event. Raises the error that ended the capture, or DataLoss."""
        if self.capture is None or not self.capture.state.ended:
            raise self.spoilt(DataLoss("the server ended the call before the capture had ended"))
        if self.capture.state is State.FAILED:
            error = self.capture.error
            if not isinstance(error, PtraceProfError):
                error = PtraceProfError(self.capture.end_message or "the capture failed; the server gave no cause")
            raise self.spoilt(error)
        if self._chunks.size < self.capture.trace_bytes:
            raise self.spoilt(DataLoss(f"the trace has {self.capture.trace_bytes} bytes, "
                                       f"of which {self._chunks.size} arrived"))
        return self._chunks.trace(self.capture)

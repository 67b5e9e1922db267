"""A recorded trace: the bytes that ptrace-prof, Perfetto and every exporter read."""
from __future__ import annotations

import os
import pathlib
import tempfile
from typing import Optional, Union

from . import _notebook, _operators, _program
from ._calls import call_rows
from ._failure import Failure
from ._operators import HeldTensor, KeyAverages, MemoryEvent, OperatorEvent, Rows
from ._stacks import Stack, count_stacks
from ._table import Row, check_by, rows_of
from .model import Capture

PathLike = Union[str, "os.PathLike[str]"]


class Trace:
    """A stream of Perfetto TracePackets, whole or cut; a cut one is a valid, shorter trace. Immutable.

    Attributes:
        data: the bytes.
        capture: the last state of the capture that the server sent; None for a trace from a file.
    """

    def __init__(self, data: bytes, capture: Optional[Capture] = None) -> None:
        self.data = data
        self.capture = capture
        self._counts: Optional[dict[Stack, int]] = None

    @classmethod
    def load(cls, path: PathLike) -> Trace:
        """Reads a .pftrace file that save() or `ptrace-prof record` wrote. Raises OSError."""
        return cls(pathlib.Path(path).read_bytes())

    def save(self, path: PathLike) -> pathlib.Path:
        """Writes the bytes as they are (.pftrace), atomically, and returns the path. Raises OSError."""
        destination = pathlib.Path(path)
        handle, name = tempfile.mkstemp(prefix=destination.name + ".", suffix=".tmp", dir=destination.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self.data)
                file.flush()
                os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(name, 0o666 & ~umask)
            os.replace(name, destination)
        except BaseException:
            os.unlink(name)
            raise
        return destination

    def export(self, path: PathLike, format: Optional[str] = None) -> pathlib.Path:  # noqa: A002
        """Converts with the program `ptrace-prof` (PTRACE_PROF_BIN, else PATH) of this machine, and returns the path.

        format: a format of `ptrace-prof export`; None: by the extension of `path`.
        Raises ProgramNotFound; ExportFailed with the program's output.
        """
        _program.export(self.data, os.fspath(path), format)
        return pathlib.Path(path)

    @property
    def samples(self) -> int:
        """The number of samples, over all threads."""
        return sum(self._stacks().values())

    def table(self, limit: Optional[int] = 40, by: str = "function") -> list[Row]:
        """Returns the functions (by="line": their lines) with the most self samples.

        In a trace of calls (mode "trace") those with the most self time, with the number of calls, always by function.
        It takes some seconds per million calls; export("text") is faster.

        limit: rows at most; None: all. Frames in brackets, "[truncated]", are marks of ptrace-prof, not functions.
        Raises DataLoss where the bytes are no trace of ptrace-prof.
        """
        check_by(by)
        if not self._stacks():
            return call_rows(self.data, limit)
        return rows_of((([(frame.function, frame.file, frame.line if by == "line" else frame.first_line)
                          for frame in stack], count) for stack, count in self._stacks().items()), limit)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False, group_by: Optional[str] = None) -> KeyAverages:
        """Returns the operators of PyTorch, added up by name, as torch.profiler's method of that name does.

        group_by_input_shape: also by the sizes of the inputs (recorded with record_shapes).
        group_by_stack_n: also by that many innermost Python frames.
        group_by_overload_name: also by overload.
        group_by: also by "module" or "step" (recorded with mode "trace").
        Raises ValueError for more than one of them, ProgramNotFound, and ExportFailed, with the reason, where the trace
        has no operators or not what they are grouped by.
        """
        choices = (("shape", group_by_input_shape), (f"stack:{group_by_stack_n}", group_by_stack_n > 0),
                   ("overload", group_by_overload_name), (group_by or "", group_by))
        wanted = [word for word, is_wanted in choices if is_wanted]
        if len(wanted) > 1:
            raise ValueError(f"operators can be grouped by one thing at a time, not by {' and '.join(wanted)}")
        return _operators.key_averages(self.data, wanted[0] if wanted else "name")

    def events(self) -> Rows[OperatorEvent]:
        """Returns the operators and ranges of PyTorch, one by one. Raises ProgramNotFound, ExportFailed."""
        return _operators.events(self.data)

    def memory_events(self) -> Rows[MemoryEvent]:
        """Returns what PyTorch allocated and freed (recorded with profile_memory). Raises as events() does."""
        return _operators.memory_events(self.data)

    def tensors(self) -> Rows[HeldTensor]:
        """Returns the parameters, buffers, gradients and optimizer state found (recorded with profile_memory).

        Raises ProgramNotFound, and ExportFailed where the trace has none.
        """
        return _operators.tensors(self.data)

    def _stacks(self) -> dict[Stack, int]:
        if self._counts is None:
            self._counts = count_stacks(self.data)
        return self._counts

    def _repr_html_(self) -> str:
        try:
            return _notebook.report(self.data)
        except Failure as error:
            return _notebook.table(self.table(limit=30), repr(self), str(error))

    def __repr__(self) -> str:
        made = f", {self.capture.state.value.lower()}" if self.capture else ""
        target = f" of process {self.capture.pid}" if self.capture else ""
        return f"<Trace{target}: {len(self.data)} bytes{made}>"

"""The operators of PyTorch in a trace, as torch.profiler gives them: added up, and one by one."""
from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Generic, Optional, TypeVar

from . import _program

T = TypeVar("T")


@dataclass(frozen=True)
class OperatorAverage:
    """Operators with the same name (and group), added up. Names and units (microseconds, bytes) are torch.profiler's.

    The total of an operator contains what it calls.
    """

    key: str                         #: the name, "aten::mm"
    count: int                       #: calls
    self_cpu_time_total: float       #: microseconds, without what it calls
    cpu_time_total: float            #: microseconds
    is_user_annotation: bool         #: the program marks it (record_function)
    cpu_memory_usage: int            #: bytes allocated less bytes freed; 0 without profile_memory
    self_cpu_memory_usage: int
    device_memory_usage: int         #: on all devices but the CPU
    self_device_memory_usage: int
    flops: int                       #: 0: not known, or recorded without record_shapes
    input_shapes: Optional[list[Any]]  #: with group_by_input_shape: [[64, 64], []], one element for each input
    stack: Optional[list[str]]       #: with group_by_stack_n: innermost first
    overload_name: Optional[str]     #: with group_by_overload_name
    module: Optional[str]            #: with group_by="module": "Linear_0 (layers.3)"
    step: Optional[str]              #: with group_by="step": "ProfilerStep#4"
    self_device_time_total: float    #: microseconds that a GPU took for what it launched itself; 0 without gpu
    device_time_total: float
    is_device: bool                  #: work of a GPU: a kernel, a copy; it has no CPU time

    @property
    def cpu_time(self) -> float:
        """Microseconds for each call."""
        return self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """Microseconds on a GPU for each call."""
        return self.device_time_total / self.count


@dataclass(frozen=True)
class OperatorEvent:
    """One operator or range, as one thread ran it."""

    name: str
    category: str                    #: "cpu_op" or "user_annotation"
    pid: int
    thread: int                      #: its thread, as the kernel numbers it
    start_us: float                  #: microseconds; only differences mean something
    cpu_time_total: float            #: microseconds
    record_function_id: int          #: unique in its process
    sequence_nr: int                 #: autograd's number of a forward operator, and of its backward; -1: none
    fwd_thread: int                  #: of a backward operator: PyTorch's number of the forward thread; 0: none
    input_shapes: Optional[list[Any]]     #: None: recorded without record_shapes
    input_types: Optional[list[str]]
    input_strides: Optional[list[Any]]
    concrete_inputs: Optional[list[str]]
    is_finished: bool                #: False: it was still running at the end, or its end was lost


@dataclass(frozen=True)
class MemoryEvent:
    """Memory that PyTorch allocated or freed."""

    pid: int
    thread: int
    start_us: float          #: microseconds; only differences mean something
    address: int
    bytes: int               #: < 0: freed
    device_type: int         #: c10::DeviceType: 0 CPU, 1 CUDA
    device_index: int        #: -1: CPU
    total_allocated: int     #: then, on this device; CPU: since the recording began
    total_reserved: int      #: by a caching allocator


@dataclass(frozen=True)
class HeldTensor:
    """A tensor that a model or an optimizer of the job held."""

    role: str                #: "parameter", "buffer", "gradient" or "optimizer_state"
    name: str                #: "layers.0.weight"; of optimizer state with its key: "layers.0.weight exp_avg"
    of: str                  #: the class of the outermost module, or of the optimizer
    type: str                #: "float32"
    sizes: list[int]
    device: str              #: "cpu", "cuda:0"
    bytes: int               #: of its storage, which other tensors may share
    address: int             #: likewise
    pid: int


class Rows(list[T], Generic[T]):
    """A list of rows of one kind."""

    def __init__(self, kind: type[T], rows: Iterable[T]) -> None:
        super().__init__(rows)
        self._kind = kind

    def columns(self) -> dict[str, list[Any]]:
        """Returns a list for each field."""
        return {field.name: [getattr(row, field.name) for row in self]
                for field in fields(self._kind)}  # type: ignore[arg-type]

    def to_pandas(self) -> Any:
        """Returns a pandas.DataFrame. Raises ImportError without pandas."""
        import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return pandas.DataFrame(self.columns())

    def to_arrow(self) -> Any:
        """Returns a pyarrow.Table; lists of lists become JSON. Raises ImportError without pyarrow."""
        import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

        return pyarrow.table({name: [json.dumps(value) if isinstance(value, list) else value for value in column]
                              for name, column in self.columns().items()})


class KeyAverages(Rows[OperatorAverage]):
    """What Trace.key_averages() returns."""

    def __init__(self, trace: bytes, grouping: str, rows: Iterable[OperatorAverage]) -> None:
        super().__init__(OperatorAverage, rows)
        self._trace = trace
        self._grouping = grouping

    def table(self, sort_by: str = "self_cpu_time_total", row_limit: int = 100) -> str:
        """Returns the table as text, as `ptrace-prof table` prints it. Raises ProgramNotFound, ExportFailed."""
        return _program.table(self._trace, "--group-by", self._grouping, "--sort-by", sort_by,
                              "--row-limit", str(row_limit))


def _average(row: dict[str, Any]) -> OperatorAverage:
    shapes = row.get("input_shapes")
    stack = row.get("stack")
    return OperatorAverage(
        key=row["name"], count=row["count"], self_cpu_time_total=row["self_cpu_time_us"],
        cpu_time_total=row["cpu_time_total_us"], is_user_annotation=row["is_user_annotation"],
        cpu_memory_usage=row.get("cpu_memory", 0), self_cpu_memory_usage=row.get("self_cpu_memory", 0),
        device_memory_usage=row.get("device_memory", 0), self_device_memory_usage=row.get("self_device_memory", 0),
        flops=row.get("flops", 0), input_shapes=json.loads(shapes) if shapes else None,
        stack=stack.split(" < ") if stack is not None else None, overload_name=row.get("overload"),
        module=row.get("module"), step=row.get("step"),
        self_device_time_total=row.get("self_device_time_us", 0.0),
        device_time_total=row.get("device_time_total_us", 0.0), is_device=row.get("is_device", False))


def key_averages(trace: bytes, grouping: str) -> KeyAverages:
    rows = json.loads(_program.table(trace, "--group-by", grouping, "--format", "json", "--row-limit", "0"))["rows"]
    return KeyAverages(trace, grouping, map(_average, rows))


def _event(event: dict[str, Any]) -> OperatorEvent:
    known = event["args"]
    return OperatorEvent(
        name=event["name"], category=event["cat"], pid=event["pid"], thread=event["tid"], start_us=event["ts"],
        cpu_time_total=event["dur"], record_function_id=known["Record function id"],
        sequence_nr=known.get("Sequence number", -1), fwd_thread=known.get("Fwd thread id", 0),
        input_shapes=known.get("Input Dims"), input_types=known.get("Input type"),
        input_strides=known.get("Input Strides"), concrete_inputs=known.get("Concrete Inputs"),
        is_finished=known.get("finished", True))


def _memory(event: dict[str, Any]) -> MemoryEvent:
    known = event["args"]
    return MemoryEvent(
        pid=event["pid"], thread=event["tid"], start_us=event["ts"], address=known["Addr"], bytes=known["Bytes"],
        device_type=known["Device Type"], device_index=known["Device Id"], total_allocated=known["Total Allocated"],
        total_reserved=known["Total Reserved"])


def tensors(trace: bytes) -> Rows[HeldTensor]:
    rows = json.loads(_program.table(trace, "--tensors", "--format", "json", "--row-limit", "0"))["rows"]
    return Rows(HeldTensor, (HeldTensor(**{**row, "sizes": json.loads(row["sizes"]),
                                           "address": int(row["address"], 16)})
                             for row in rows))


def events(trace: bytes) -> Rows[OperatorEvent]:
    return Rows(OperatorEvent, (_event(event) for event in _program.kineto(trace)
                                if "Record function id" in event.get("args", {})))


def memory_events(trace: bytes) -> Rows[MemoryEvent]:
    return Rows(MemoryEvent, (_memory(event) for event in _program.kineto(trace) if event["name"] == "[memory]"))

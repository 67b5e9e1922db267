"""Profile running Python processes: the client of ptrace-profd.

    import ptrace_prof

    with ptrace_prof.Client() as client:
        trace = client.record(pid=4711, duration=5)
    trace.save("run.pftrace")
    for row in trace.table(limit=10):
        print(f"{row.self_share:6.1%} {row.total_share:6.1%}  {row.function}  {row.file}:{row.line}")

Times are seconds, as float. Every error is a PtraceProfError: see ptrace_prof.errors.
"""
from ._async import AsyncStream
from ._operators import HeldTensor, KeyAverages, MemoryEvent, OperatorAverage, OperatorEvent
from ._sync import Stream
from ._table import Row
from ._tls import Tls
from .aio import AsyncClient
from .client import Client
from .errors import (
    AlreadyTraced,
    BadOffset,
    BeingTraced,
    CallerUidMismatch,
    Cancelled,
    CapabilityMissing,
    CaptureExists,
    CaptureNotEnded,
    CaptureNotFound,
    CollectorFailed,
    DataLoss,
    DeadlineExceeded,
    DiskFull,
    ExportFailed,
    GpuRefused,
    InvalidRequest,
    LsmDenied,
    NotFound,
    NotPython,
    PermissionDenied,
    PolicyDenied,
    PreconditionFailed,
    ProcessNotFound,
    ProgramNotFound,
    PtraceProfError,
    PythonUnsupported,
    QuotaReached,
    RemoteDebugDisabled,
    ResourceExhausted,
    SeccompDenied,
    StorageFailed,
    TargetExeced,
    TargetExited,
    TargetGone,
    TargetIdle,
    TargetNotDumpable,
    TracingRefused,
    Unavailable,
    Unsupported,
    YamaDenied,
)
from .model import (
    Capture,
    Check,
    Node,
    ProcessList,
    PythonProcess,
    SampleBatch,
    SampledThread,
    StackFrame,
    State,
    ThreadStack,
    Totals,
    Variable,
)
from .options import CaptureOptions, StepSchedule
from .trace import Trace

__version__ = "0.1.0"

__all__ = [
    "AlreadyTraced", "AsyncClient", "AsyncStream", "BadOffset", "BeingTraced", "CallerUidMismatch", "Cancelled",
    "CapabilityMissing", "Capture", "CaptureExists", "CaptureNotEnded", "CaptureNotFound", "CaptureOptions",
    "Check", "Client", "CollectorFailed", "DataLoss", "DeadlineExceeded", "DiskFull", "ExportFailed", "GpuRefused",
    "HeldTensor", "InvalidRequest", "KeyAverages", "LsmDenied", "MemoryEvent", "Node", "NotFound", "NotPython",
    "OperatorAverage", "OperatorEvent", "PermissionDenied", "PolicyDenied", "PreconditionFailed", "ProcessList",
    "ProcessNotFound", "ProgramNotFound", "PtraceProfError", "PythonProcess", "PythonUnsupported", "QuotaReached",
    "RemoteDebugDisabled", "ResourceExhausted", "Row", "SampleBatch", "SampledThread", "SeccompDenied",
    "StackFrame", "State", "StepSchedule", "StorageFailed", "Stream", "TargetExeced", "TargetExited", "TargetGone",
    "TargetIdle", "TargetNotDumpable", "ThreadStack", "Tls", "Totals", "Trace", "TracingRefused", "Unavailable",
    "Unsupported", "Variable", "YamaDenied",
]

"""The errors: a class for each reason of the server, or for several; all are subclasses of PtraceProfError.

Catch the class that you can handle::

    try:
        trace = client.record(pid=4711, duration=5)
    except ptrace_prof.ProcessNotFound:
        ...
    except ptrace_prof.PermissionDenied as error:   # Yama, an LSM, another user's process …
        print(error.reason, error.remedy)
"""
from __future__ import annotations

from typing import Optional

from ._failure import CLASSES, Failure
from .model import Capture
from .trace import Trace


class PtraceProfError(Failure):
    """An error of the server, or of the connection to it.

    Attributes:
        code: name of the gRPC status code, "NOT_FOUND".
        reason: the exact cause in one word, "PROCESS_NOT_FOUND"; the list is in docs/api.md. Never empty.
        thing: the subject of the error, "process 4711"; empty where the server names none.
        message: a sentence that names the thing and the cause.
        remedy: what the caller can do about it; empty where no remedy is known.
        retry_after: seconds after which another try can help, or None.
        trace: what was recorded before the error, or None. Always a valid trace.
        capture: the last state of the capture that the server sent, or None.
    """

    code = "UNKNOWN"
    reason = "UNKNOWN"
    #: Further reasons for which this class is raised.
    also: tuple[str, ...] = ("UNAUTHENTICATED",)
    trace: Optional[Trace] = None
    capture: Optional[Capture] = None


class InvalidRequest(PtraceProfError, ValueError):
    """A value is out of range, or contradicts another; the message names it."""

    code, reason = "INVALID_ARGUMENT", "INVALID_REQUEST"
    also: tuple[str, ...] = ("TARGET_IS_THREAD", "TARGET_IS_KERNEL_THREAD", "TARGET_IS_PROFILER")


class NotFound(PtraceProfError, LookupError):
    """A process or a capture does not exist."""

    code, reason = "NOT_FOUND", "NOT_FOUND"
    also: tuple[str, ...] = ("COMMAND_NOT_FOUND",)


class ProcessNotFound(NotFound):
    """The process does not exist, or another process with this ID started at start_time_ticks."""

    reason = "PROCESS_NOT_FOUND"


class CaptureNotFound(NotFound):
    """The capture does not exist, or does not exist any more."""

    reason = "CAPTURE_NOT_FOUND"


class CaptureExists(PtraceProfError):
    """A capture with the chosen ID exists."""

    code, reason = "ALREADY_EXISTS", "CAPTURE_EXISTS"
    also: tuple[str, ...] = ("ALREADY_EXISTS",)


class BeingTraced(CaptureExists):
    """Another capture traces the calls of this process."""

    reason = "BEING_TRACED"


class PermissionDenied(PtraceProfError, PermissionError):
    """The caller may not read this process; `reason` and the subclass name what forbids it."""

    code, reason = "PERMISSION_DENIED", "PERMISSION_DENIED"
    also: tuple[str, ...] = ("PROC_HIDDEN", "CANNOT_BECOME_CALLER", "COMMAND_NOT_STARTED", "NO_PRIVILEGE")


class YamaDenied(PermissionDenied):
    """The kernel's Yama module (kernel.yama.ptrace_scope) forbids it."""

    reason = "YAMA_DENIED"


class LsmDenied(PermissionDenied):
    """AppArmor, SELinux or another security module forbids it."""

    reason = "LSM_DENIED"


class PolicyDenied(PermissionDenied):
    """The administrator's policy of the server does not let the caller profile this process."""

    reason = "POLICY_DENIED"


class SeccompDenied(PermissionDenied):
    """A seccomp filter forbids the server the system calls that it needs."""

    reason = "SECCOMP_DENIED"


class CapabilityMissing(PermissionDenied):
    """The server lacks CAP_SYS_PTRACE, or lacks it in the user namespace of the process."""

    reason = "CAPABILITY_MISSING"
    also: tuple[str, ...] = ("USER_NAMESPACE",)


class TargetNotDumpable(PermissionDenied):
    """The process is protected from its own user: set-user-ID, capabilities, or prctl(PR_SET_DUMPABLE)."""

    reason = "TARGET_NOT_DUMPABLE"
    also: tuple[str, ...] = ("TARGET_CHANGED_IDS", "TARGET_HAS_CAPABILITIES")


class CallerUidMismatch(PermissionDenied):
    """The process, or the capture, belongs to another user."""

    reason = "CALLER_UID_MISMATCH"


class PreconditionFailed(PtraceProfError):
    """The state of a process or a capture does not allow the request."""

    code, reason = "FAILED_PRECONDITION", "FAILED_PRECONDITION"
    also: tuple[str, ...] = ("TARGET_IS_ZOMBIE", "MAIN_THREAD_ENDED", "CANNOT_BECOME_OWNER", "NO_TORCH")


class TracingRefused(PreconditionFailed):
    """The process cannot be traced (mode "trace") as it is; sampling works."""

    reason = "TRACER_NOT_LOADED"
    also: tuple[str, ...] = ("TARGET_STOPPED", "FOREIGN_PROFILER", "FOREIGN_FRAME_HOOK", "NO_PROC_IN_TARGET",
                             "TRACING_TOO_COSTLY", "TRACER_LOST")


class RemoteDebugDisabled(TracingRefused):
    """The process was started with remote debugging disabled; force=True traces it nevertheless."""

    reason = "REMOTE_DEBUG_DISABLED"


class GpuRefused(PreconditionFailed):
    """The GPU of the process cannot be recorded as it is; its Python code can."""

    reason = "NO_CUDA"
    also: tuple[str, ...] = ("CONFLICT_SUBSCRIBER", "CUPTI_BLOCKED", "MPS_UNSAFE", "NO_KERNELS_SEEN")


class NotPython(PreconditionFailed):
    """The process does not run Python: it never does, has not started it, or has ended it."""

    reason = "NOT_PYTHON"
    also: tuple[str, ...] = ("PYTHON_NOT_STARTED", "PYTHON_ENDING")


class AlreadyTraced(PreconditionFailed):
    """Another debugger or profiler holds the process."""

    reason = "ALREADY_TRACED"


class CaptureNotEnded(PreconditionFailed):
    """The capture still runs: cancel it first, or delete it with force=True."""

    reason = "CAPTURE_NOT_ENDED"


class Unsupported(PtraceProfError, NotImplementedError):
    """This server does not support the request."""

    code, reason = "UNIMPLEMENTED", "NOT_YET"
    also: tuple[str, ...] = ("UNKNOWN_QUEUE_LAYOUT", "KERNEL_TOO_OLD", "CUPTI_TOO_OLD", "DRIVER_TOO_OLD",
                             "TORCH_UNSUPPORTED")


class PythonUnsupported(Unsupported):
    """This version or build of Python cannot be read."""

    reason = "PYTHON_UNSUPPORTED"
    also: tuple[str, ...] = ("PYTHON_TEST_RELEASE", "PYTHON_TRACE_REFS", "PYTHON_NOT_CPYTHON")


class ResourceExhausted(PtraceProfError):
    """A limit is reached, or the machine has too little left."""

    code, reason = "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"
    also: tuple[str, ...] = ("OUT_OF_RESOURCES", "PENDING_QUEUE_FULL", "NO_ROOM_FOR_TEXT", "LOW_GPU_MEMORY")


class QuotaReached(ResourceExhausted):
    """A limit of the server on captures, bytes, time or CPU is reached; see `retry_after`."""

    reason = "QUOTA"


class DiskFull(ResourceExhausted):
    """The server has no room for the trace."""

    reason = "DISK_FULL"


class TargetGone(PtraceProfError):
    """The process existed and has gone."""

    code, reason = "ABORTED", "TARGET_EXITED"


class TargetExited(TargetGone):
    """The process ended."""

    reason = "TARGET_EXITED"


class TargetExeced(TargetGone):
    """The process has become another program."""

    reason = "TARGET_EXECED"


class BadOffset(PtraceProfError):
    """The offset is behind the end of the trace, or inside a packet."""

    code, reason = "OUT_OF_RANGE", "BAD_OFFSET"


class CollectorFailed(PtraceProfError):
    """The collector, which reads the process, died or misbehaved. The process itself is unharmed."""

    code, reason = "INTERNAL", "COLLECTOR_FAILED"
    also: tuple[str, ...] = ("INTERNAL",)


class StorageFailed(PtraceProfError):
    """The server cannot store or read the trace, although there is room."""

    code, reason = "INTERNAL", "STORAGE_FAILED"


class Unavailable(PtraceProfError, ConnectionError):
    """No server answers, or the connection broke."""

    code, reason = "UNAVAILABLE", "UNAVAILABLE"
    also: tuple[str, ...] = ("SERVER_UNREACHABLE", "LAUNCHER_FAILED", "NO_DAEMON", "FOREIGN_SCRIPT",
                             "PENDING_QUEUE_LOCKED", "DAEMON_ENDING", "DAEMON_RESTARTED")


class DeadlineExceeded(PtraceProfError, TimeoutError):
    """The server did not answer within the client's `timeout`."""

    code, reason = "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"
    also: tuple[str, ...] = ("ATTACH_TIMEOUT",)


class TargetIdle(DeadlineExceeded):
    """No thread of the process ran Python code in time, and only such a thread can load the tracer."""

    reason = "TARGET_IDLE"


class Cancelled(PtraceProfError):
    """The call was cancelled."""

    code, reason = "CANCELLED", "CANCELLED"


class DataLoss(PtraceProfError):
    """Bytes of a trace are damaged or missing; `trace` holds what came before them."""

    code, reason = "DATA_LOSS", "DATA_LOSS"
    also: tuple[str, ...] = ("PYTHON_DAMAGED", "NOT_A_TRACE")


class ProgramNotFound(PtraceProfError, FileNotFoundError):
    """The program `ptrace-prof`, which exports traces, is not on this machine."""

    code, reason = "FAILED_PRECONDITION", "PROGRAM_NOT_FOUND"


class ExportFailed(PtraceProfError):
    """The program `ptrace-prof` could not export a trace; the message is its output."""

    code, reason = "UNKNOWN", "EXPORT_FAILED"


def _all_below(cls: type[PtraceProfError]) -> dict[str, type[PtraceProfError]]:
    found = dict.fromkeys((cls.reason, *cls.__dict__.get("also", ())), cls)
    for child in cls.__subclasses__():
        found.update(_all_below(child))
    return found


BY_REASON = _all_below(PtraceProfError)
CLASSES.update(BY_REASON)
# The class of an error whose reason this client does not know.
BY_CODE: dict[str, type[PtraceProfError]] = {
    cls.code: cls
    for cls in (InvalidRequest, NotFound, CaptureExists, PermissionDenied, PreconditionFailed, Unsupported,
                ResourceExhausted, TargetGone, BadOffset, CollectorFailed, Unavailable, DeadlineExceeded, Cancelled,
                DataLoss)
}

"""From a gRPC error, or a google.rpc.Status, to the exception that says the same."""
from __future__ import annotations

from typing import Any, Optional

import grpc
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2

from .errors import BY_CODE, BY_REASON, DeadlineExceeded, PtraceProfError, Unavailable

DOMAIN = "ptraceprof"
_DETAILS = "grpc-status-details-bin"


def code_name(number: int) -> str:
    """"NOT_FOUND" for 5."""
    try:
        return str(code_pb2.Code.Name(number))
    except ValueError:
        return "UNKNOWN"


def from_status(status: status_pb2.Status) -> PtraceProfError:
    """Of a failed capture, or from the details of a failed call."""
    code = code_name(status.code)
    reason = ""
    metadata: dict[str, str] = {}
    retry_after: Optional[float] = None
    for detail in status.details:
        info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if detail.Unpack(info) and info.domain == DOMAIN:
            reason, metadata = info.reason, dict(info.metadata)
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
    cls = BY_REASON.get(reason) or BY_CODE.get(code, PtraceProfError)
    return cls(status.message or f"the server answered {code}", code=code, reason=reason,
               remedy=metadata.get("remedy", ""), thing=metadata.get("thing", ""), retry_after=retry_after)


def from_rpc_error(error: Any, target: str) -> PtraceProfError:
    """`error`: a grpc.RpcError of a call, sync or async."""
    status = status_pb2.Status()
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            try:
                status.ParseFromString(value)
            except DecodeError:  # whatever the server sent there: the code and the message remain
                status.Clear()
    said = error.details() or ""
    if not status.details and error.code() is grpc.StatusCode.UNAVAILABLE:
        return Unavailable(f"no ptrace-profd answers at {target}: {said}",
                           reason="SERVER_UNREACHABLE", thing=f"server {target}",
                           remedy="start ptrace-profd there, or say where it listens: Client('unix:/path/to.sock'); "
                                  "one that runs answers the user who started it and root, and logs whom it refused")
    if not status.details and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceeded(f"the server at {target} did not answer in time",
                                remedy="give it more: Client(timeout=SECONDS)")
    status.code = error.code().value[0]
    status.message = said
    return from_status(status)

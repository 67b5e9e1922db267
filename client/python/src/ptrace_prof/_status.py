"""Converts a gRPC error, or a google.rpc.Status, to an exception of errors.py."""
from __future__ import annotations

import asyncio
from typing import Any, Optional

import grpc
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2

from ._endpoint import Server
from .errors import BY_CODE, BY_REASON, DeadlineExceeded, PtraceProfError, Unavailable

DOMAIN = "ptraceprof"
_DETAILS = "grpc-status-details-bin"


def code_name(number: int) -> str:
    """Returns "NOT_FOUND" for 5; "UNKNOWN" for a number that gRPC does not define."""
    try:
        return str(code_pb2.Code.Name(number))
    except ValueError:
        return "UNKNOWN"


def from_status(status: status_pb2.Status) -> PtraceProfError:
    """Converts the status of a failed capture, or the details of a failed call."""
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


def _details_of(error: Any) -> status_pb2.Status:
    status = status_pb2.Status()
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            try:
                status.ParseFromString(value)
            except DecodeError:  # the code and the message remain
                status.Clear()
    return status


def _no_answer(said: str, target: str) -> PtraceProfError:
    remedy = ("start ptrace-profd there, or give its address: Client('unix:/path/to.sock'); it answers root and "
              "the user who started it, and its log names the callers that it refused")
    if target.startswith("tls://"):
        remedy = "check that ptrace-profd runs there with --listen-tcp; its log names the callers that it refused"
    return Unavailable(f"no ptrace-profd answers at {target}: {said}", reason="SERVER_UNREACHABLE",
                       thing=f"server {target}", remedy=remedy)


def _is_silence(error: Any, status: status_pb2.Status) -> bool:
    return not status.details and error.code() is grpc.StatusCode.UNAVAILABLE


def from_rpc_error(error: Any, server: Server) -> PtraceProfError:
    """Converts the grpc.RpcError of a call. May block for some seconds over TLS, to find the cause."""
    status = _details_of(error)
    said = error.details() or ""
    if _is_silence(error, status):
        return server.explain() or _no_answer(said, server.target)
    if not status.details and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceeded(f"the server at {server.target} did not answer in time",
                                remedy="give it more time: Client(timeout=SECONDS)")
    status.code = error.code().value[0]
    status.message = said
    return from_status(status)


async def from_async_error(error: Any, server: Server) -> PtraceProfError:
    """Converts as from_rpc_error(), without blocking the event loop."""
    if server.can_explain and _is_silence(error, _details_of(error)):
        return await asyncio.to_thread(from_rpc_error, error, server)
    return from_rpc_error(error, server)

"""How a client shows who it is over TCP: files of its certificate, from the caller or the environment."""
from __future__ import annotations

import dataclasses
import os
from typing import Optional

import grpc

from . import _munge
from .errors import InvalidRequest, PtraceProfError

SCHEME = "tls://"


@dataclasses.dataclass(frozen=True)
class Tls:
    """For a target "tls://host:port": PEM files, and as whom to be served. What is left out comes from the environment.

    ca: the authority that signed the certificate of ptrace-profd ($PTRACE_PROF_TLS_CA).
    cert, key: ours ($PTRACE_PROF_TLS_CERT, $PTRACE_PROF_TLS_KEY).
    server_name: what the certificate of ptrace-profd is for, where that is not the host ($PTRACE_PROF_TLS_SERVER_NAME).
    user: of the other machine, where our certificate speaks for several ($PTRACE_PROF_AS).
    munge: show with each call a credential of munged's, which says which user of the cluster we are
        ($PTRACE_PROF_MUNGE=1); needs libmunge.so.2.
    munge_socket: where munged listens, if elsewhere than usual ($PTRACE_PROF_MUNGE_SOCKET).
    """

    ca: Optional[str] = None
    cert: Optional[str] = None
    key: Optional[str] = None
    server_name: Optional[str] = None
    user: Optional[str] = None
    munge: Optional[bool] = None
    munge_socket: Optional[str] = None


class _Metadata(grpc.AuthMetadataPlugin):  # type: ignore[misc]
    """What goes with each call: as whom it is made, and a MUNGE credential of its own."""

    def __init__(self, user: str, munge: Optional[_munge.Munge], host: str) -> None:
        self._user = (("ptrace-prof-user", user),) if user else ()
        self._munge, self._host = munge, host

    def __call__(self, context: grpc.AuthMetadataContext, callback: grpc.AuthMetadataPluginCallback) -> None:
        shown: tuple[tuple[str, str], ...] = ()
        if self._munge:
            method = f"/{context.service_url.rpartition('/')[2]}/{context.method_name}"
            try:
                shown = (("authorization", f"munge {self._munge.credential(_munge.payload(method, self._host))}"),)
            except PtraceProfError as error:
                callback((), error)
                return
        callback(self._user + shown, None)


def _said(value: Optional[str], variable: str) -> str:
    return value if value is not None else os.environ.get(variable, "")


def files(tls: Optional[Tls]) -> tuple[str, str, str, str]:
    """The authority, the key, the certificate, and the name of the server; empty: not said."""
    tls = tls or Tls()
    return (_said(tls.ca, "PTRACE_PROF_TLS_CA"), _said(tls.key, "PTRACE_PROF_TLS_KEY"),
            _said(tls.cert, "PTRACE_PROF_TLS_CERT"), _said(tls.server_name, "PTRACE_PROF_TLS_SERVER_NAME"))


def _read(path: str, name: str, target: str) -> bytes:
    remedy = f"give Tls({name}=FILE), or the file in $PTRACE_PROF_TLS_{name.upper()}"
    if not path:
        raise InvalidRequest(f"{target} needs a file for `{name}`", code="INVALID_ARGUMENT", remedy=remedy)
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror}", code="INVALID_ARGUMENT", remedy=remedy) from None


def _wants_munge(tls: Tls) -> bool:
    if tls.munge is not None:
        return tls.munge
    return bool(tls.munge_socket) or os.environ.get("PTRACE_PROF_MUNGE", "") not in ("", "0")


def credentials(target: str, tls: Optional[Tls]) -> tuple[grpc.ChannelCredentials, list[tuple[str, str]]]:
    """And options of the channel that go with them."""
    ca, key, cert, name = files(tls)
    tls = tls or Tls()
    read = [_read(path, kind, target) for path, kind in ((ca, "ca"), (key, "key"), (cert, "cert"))]
    chosen = grpc.ssl_channel_credentials(*read)
    user = _said(tls.user, "PTRACE_PROF_AS")
    munge = _munge.Munge(_said(tls.munge_socket, "PTRACE_PROF_MUNGE_SOCKET")) if _wants_munge(tls) else None
    if munge:
        munge.credential(b"")  # once for nothing: of a call, gRPC would tell it as a broken connection
    if user or munge:
        plugin = _Metadata(user, munge, name or target[len(SCHEME):].rpartition(":")[0].strip("[]"))
        chosen = grpc.composite_channel_credentials(chosen, grpc.metadata_call_credentials(plugin))
    return chosen, [("grpc.ssl_target_name_override", name)] if name else []

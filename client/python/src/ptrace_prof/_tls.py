"""A client's credentials over TCP: the files of its certificate, from the caller or the environment."""
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
    """Credentials for a target "tls://host:port". A field that is None comes from the environment variable in brackets.

    ca: PEM file of the authority that signed the certificate of ptrace-profd ($PTRACE_PROF_TLS_CA).
    cert, key: PEM files of the client's certificate ($PTRACE_PROF_TLS_CERT, $PTRACE_PROF_TLS_KEY).
    server_name: the name in the certificate of ptrace-profd, where it is not the host ($PTRACE_PROF_TLS_SERVER_NAME).
    user: the user of the other machine to act as, where the certificate speaks for several ($PTRACE_PROF_AS).
    munge: send a MUNGE credential with each call, which proves the user of this process ($PTRACE_PROF_MUNGE=1); needs
        libmunge.so.2.
    munge_socket: the socket of munged, where it is not the default ($PTRACE_PROF_MUNGE_SOCKET).
    """

    ca: Optional[str] = None
    cert: Optional[str] = None
    key: Optional[str] = None
    server_name: Optional[str] = None
    user: Optional[str] = None
    munge: Optional[bool] = None
    munge_socket: Optional[str] = None


class _Metadata(grpc.AuthMetadataPlugin):  # type: ignore[misc]
    """Adds the user to each call, and a MUNGE credential for that call alone."""

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


def _given(value: Optional[str], variable: str) -> str:
    return value if value is not None else os.environ.get(variable, "")


def files(tls: Optional[Tls]) -> tuple[str, str, str, str]:
    """Returns the files of the authority, the key and the certificate, and the name of the server; empty: not given."""
    tls = tls or Tls()
    return (_given(tls.ca, "PTRACE_PROF_TLS_CA"), _given(tls.key, "PTRACE_PROF_TLS_KEY"),
            _given(tls.cert, "PTRACE_PROF_TLS_CERT"), _given(tls.server_name, "PTRACE_PROF_TLS_SERVER_NAME"))


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
    """Returns the credentials and the channel options that they need. Raises InvalidRequest, Unavailable."""
    ca, key, cert, name = files(tls)
    tls = tls or Tls()
    read = [_read(path, kind, target) for path, kind in ((ca, "ca"), (key, "key"), (cert, "cert"))]
    chosen = grpc.ssl_channel_credentials(*read)
    user = _given(tls.user, "PTRACE_PROF_AS")
    munge = _munge.Munge(_given(tls.munge_socket, "PTRACE_PROF_MUNGE_SOCKET")) if _wants_munge(tls) else None
    if munge:
        munge.credential(b"")  # to raise its error here: during a call, gRPC reports it as a broken connection
    if user or munge:
        plugin = _Metadata(user, munge, name or target[len(SCHEME):].rpartition(":")[0].strip("[]"))
        chosen = grpc.composite_channel_credentials(chosen, grpc.metadata_call_credentials(plugin))
    return chosen, [("grpc.ssl_target_name_override", name)] if name else []

"""The server's address: its default, the channel to it, and why it does not answer."""
from __future__ import annotations

import os
from typing import Any, Optional

import grpc
import grpc.aio

from . import _tls
from .errors import InvalidRequest, PtraceProfError

# A chunk holds at most 1 MiB unless a single packet is larger; one message holds the whole trace of a dump.
OPTIONS: list[tuple[str, int]] = [("grpc.max_receive_message_length", 256 << 20), ("grpc.enable_http_proxy", 0)]


def default_target() -> str:
    """Returns /run/ptrace-prof/ptrace-prof.sock for root, the same path in $XDG_RUNTIME_DIR for other users."""
    runtime = "/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    return f"unix:{runtime}/ptrace-prof/ptrace-prof.sock"


def resolve(target: Optional[str]) -> str:
    """Returns `target` as messages name it; a plain path is a Unix socket."""
    if not target:
        return default_target()
    return f"unix:{target}" if target.startswith(("/", "./", "../")) else target


class Server:
    """The server that a client was given: `target`, resolved, and the credentials for it."""

    def __init__(self, target: Optional[str], credentials: Optional[grpc.ChannelCredentials],
                 tls: Optional[_tls.Tls]) -> None:
        self.target = resolve(target)
        self._credentials, self._tls = credentials, tls
        if tls is not None and not self.is_tls:
            raise InvalidRequest(f"Tls needs a target tls://HOST:PORT, not {self.target}",
                                 remedy="leave `tls` out, or give Client a target that begins with tls://")

    @property
    def is_tls(self) -> bool:
        return self.target.startswith(_tls.SCHEME)

    def open_channel(self, asynchronous: bool = False) -> Any:
        """Opens a channel; for "tls://host:port" with the given credentials, else with the certificate of `tls`.

        Raises InvalidRequest for files that cannot be read, Unavailable where munged makes no credential.
        """
        options: list[Any] = list(OPTIONS)
        credentials, address = self._credentials, self.target
        if self.is_tls:
            address = address[len(_tls.SCHEME):]
            if credentials is None:
                credentials, more = _tls.credentials(self.target, self._tls)
                options += more
        module: Any = grpc.aio if asynchronous else grpc
        if credentials:
            return module.secure_channel(address, credentials, options)
        return module.insecure_channel(address, options)

    @property
    def can_explain(self) -> bool:
        """Whether explain() can find more than gRPC reports; it then blocks for some seconds at most."""
        return self.is_tls and self._credentials is None

    def explain(self) -> Optional[PtraceProfError]:
        """Returns why the server does not answer; None: no cause was found."""
        if not self.can_explain:
            return None
        try:
            from ._tls_trouble import explain
        except ImportError:  # a Python without ssl, which gRPC does not need
            return None
        return explain(self.target, self._tls)

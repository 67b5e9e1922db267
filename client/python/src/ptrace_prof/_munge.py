"""Gets MUNGE credentials, which prove the caller's user to the hosts of a cluster; uses libmunge through ctypes."""
from __future__ import annotations

import ctypes
from typing import Any

from .errors import InvalidRequest, Unavailable

LIBRARY = "libmunge.so.2"
USUAL_SOCKET = "/run/munge/munge.socket.2"
_OPTION_SOCKET = 8  # MUNGE_OPT_SOCKET
_SOCKET_ERRORS = (6, 7)  # EMUNGE_SOCKET, EMUNGE_TIMEOUT


def _load() -> Any:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise InvalidRequest(f"MUNGE credentials come from {LIBRARY}, which cannot be loaded: {error}",
                             code="FAILED_PRECONDITION",
                             remedy="install it (Debian: libmunge2), or leave munge out: Tls(munge=False)"
                             ) from None
    library.munge_ctx_create.restype = ctypes.c_void_p
    library.munge_ctx_destroy.argtypes = [ctypes.c_void_p]
    library.munge_ctx_destroy.restype = None
    library.munge_ctx_strerror.argtypes = [ctypes.c_void_p]
    library.munge_ctx_strerror.restype = ctypes.c_char_p
    library.munge_strerror.argtypes = [ctypes.c_int]
    library.munge_strerror.restype = ctypes.c_char_p
    library.munge_encode.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    return library


class Munge:
    """Gets credentials for the user of this process from munged. Any thread may call it; a call waits for munged."""

    def __init__(self, socket: str) -> None:
        self._socket = socket or USUAL_SOCKET
        self._library = _load()
        self._free = ctypes.CDLL(None).free
        self._free.argtypes = [ctypes.c_void_p]
        self._free.restype = None

    def credential(self, payload: bytes) -> str:
        context = ctypes.c_void_p(self._library.munge_ctx_create())
        made = ctypes.c_void_p()
        try:
            # The second argument of munge_ctx_set determines the type of the third.
            error = self._library.munge_ctx_set(context, ctypes.c_int(_OPTION_SOCKET),
                                                ctypes.c_char_p(self._socket.encode()))
            error = error or self._library.munge_encode(ctypes.byref(made), context, payload, len(payload))
            if error:
                self._refuse(error, context)
            return ctypes.string_at(made).decode("ascii")
        finally:
            self._free(made)
            self._library.munge_ctx_destroy(context)

    def _refuse(self, error: int, context: ctypes.c_void_p) -> None:
        said = self._library.munge_ctx_strerror(context) or self._library.munge_strerror(error)
        words = said.decode(errors="replace")
        if error in _SOCKET_ERRORS:
            raise Unavailable(f"munged does not answer at {self._socket}: {words}", reason="UNAVAILABLE",
                              remedy="start munged on this machine (systemctl start munge), or set its socket: "
                                     "Tls(munge_socket=PATH), $PTRACE_PROF_MUNGE_SOCKET")
        raise Unavailable(f"munged made no credential: {words}", reason="UNAVAILABLE",
                          remedy="the log of munged may give the cause")


def payload(method: str, host: str) -> bytes:
    """Returns the payload that binds a credential to one call of `method` at `host`; ptrace-profd checks it."""
    return f"ptrace-prof call 1\n{method}\n{host}\n".encode()

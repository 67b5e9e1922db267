"""Finds out why a server over TLS does not answer; gRPC only reports that a handshake failed or the connection ended.

Connects once more without gRPC, with the same certificate, and reads the alert that the server sends.
"""
from __future__ import annotations

import contextlib
import socket
import ssl
from typing import Optional

from ._tls import SCHEME, Tls, files
from .errors import PtraceProfError, Unavailable

PATIENCE = 3.0  # seconds

# (words of a TLS alert about our certificate, their meaning, a remedy)
_OBJECTIONS = (
    ("certificate required", "it wants a client certificate, and we show none", "give Tls(cert=FILE, key=FILE)"),
    ("unknown ca", "our certificate is not signed by an authority that it knows",
     "show one that is, with the chain behind it, or have the authority added to its --tls-client-ca"),
    ("certificate expired", "our certificate has expired, or is not valid yet",
     "get a new one; `openssl x509 -in FILE -noout -dates` shows when it is valid"),
    ("certificate revoked", "our certificate has been revoked", "get a new one"),
    ("unsupported certificate", "our certificate is not one for clients",
     "have it made with extendedKeyUsage = clientAuth"),
    ("bad certificate", "something is wrong with our certificate",
     "`openssl verify -CAfile CA FILE` may show it; the log of ptrace-profd names it"),
    ("protocol version", "it does not speak TLS 1.3", "is it a ptrace-profd?"),
)


def _unreachable(target: str, what: str, remedy: str) -> PtraceProfError:
    return Unavailable(f"cannot connect to {target}: {what}", reason="SERVER_UNREACHABLE", remedy=remedy,
                       thing=f"server {target}")


def _refused(target: str, error: ssl.SSLError) -> PtraceProfError:
    said = str(error).lower().replace("_", " ")
    for words, what, remedy in _OBJECTIONS:
        if words in said:
            return PtraceProfError(f"{target} refuses us: {what}", code="UNAUTHENTICATED", reason="UNAUTHENTICATED",
                                   remedy=remedy, thing=f"server {target}")
    if "wrong version number" in said:
        return _unreachable(target, "what answers there does not speak TLS", "is it the address of --listen-tcp?")
    return _unreachable(target, str(error), "the log of ptrace-profd may say more")


def explain(target: str, tls: Optional[Tls]) -> Optional[PtraceProfError]:
    """Returns the cause; None: none was found. Blocks for some seconds at most."""
    ca, key, cert, name = files(tls)
    host, _, port = target[len(SCHEME):].rpartition(":")
    host = host.strip("[]")
    name = name or host
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    try:
        context.load_verify_locations(ca)
        context.load_cert_chain(cert, key, password="")  # without it OpenSSL prompts
    except (OSError, ValueError) as error:  # gRPC accepted the files, OpenSSL does not
        return _unreachable(target, f"{cert}, {key} or {ca} is of no use: {error}",
                            "give PEM files, of which certificate and key belong together")
    try:
        with contextlib.ExitStack() as opened:
            plain = opened.enter_context(socket.create_connection((host, int(port)), PATIENCE))
            # The server judges our certificate after the handshake is complete on our side.
            opened.enter_context(context.wrap_socket(plain, server_hostname=name)).recv(1)
    except ssl.SSLCertVerificationError as error:
        return _unreachable(target, f"its certificate is not accepted as that of {name}: {error.verify_message}",
                            "give the authority that signed it: Tls(ca=FILE); Tls(server_name=NAME) says for which "
                            "name it is")
    except ssl.SSLError as error:
        return _refused(target, error)
    except (OSError, ValueError) as error:
        return _unreachable(target, getattr(error, "strerror", None) or str(error),
                            "does ptrace-profd run there with --listen-tcp, and does a firewall let us through?")
    return None

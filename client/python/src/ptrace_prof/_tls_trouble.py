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
    ("certificate required", "it requires a client certificate, and none was sent", "give Tls(cert=FILE, key=FILE)"),
    ("unknown ca", "it does not trust the authority that signed the client certificate",
     "use a certificate with its whole chain, or add the authority to --tls-client-ca of ptrace-profd"),
    ("certificate expired", "the client certificate has expired, or is not valid yet",
     "get a new one; `openssl x509 -in FILE -noout -dates` shows when it is valid"),
    ("certificate revoked", "the client certificate has been revoked", "get a new one"),
    ("unsupported certificate", "the client certificate is not valid for clients",
     "have it made with extendedKeyUsage = clientAuth"),
    ("bad certificate", "it rejects the client certificate",
     "`openssl verify -CAfile CA FILE` may show it; the log of ptrace-profd names it"),
    ("protocol version", "it does not speak TLS 1.3", "check that it is a ptrace-profd"),
)


def _unreachable(target: str, what: str, remedy: str) -> PtraceProfError:
    return Unavailable(f"cannot connect to {target}: {what}", reason="SERVER_UNREACHABLE", remedy=remedy,
                       thing=f"server {target}")


def _refused(target: str, error: ssl.SSLError) -> PtraceProfError:
    said = str(error).lower().replace("_", " ")
    for words, what, remedy in _OBJECTIONS:
        if words in said:
            return PtraceProfError(f"{target} refused the connection: {what}", code="UNAUTHENTICATED",
                                   reason="UNAUTHENTICATED", remedy=remedy, thing=f"server {target}")
    if "wrong version number" in said:
        return _unreachable(target, "the server there does not speak TLS", "give the address of --listen-tcp")
    return _unreachable(target, str(error), "the log of ptrace-profd may give the cause")


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
        return _unreachable(target, f"cannot use {cert}, {key} or {ca}: {error}",
                            "give PEM files, with a key that belongs to the certificate")
    try:
        with contextlib.ExitStack() as opened:
            plain = opened.enter_context(socket.create_connection((host, int(port)), PATIENCE))
            # The server judges our certificate after the handshake is complete on our side.
            opened.enter_context(context.wrap_socket(plain, server_hostname=name)).recv(1)
    except ssl.SSLCertVerificationError as error:
        return _unreachable(target, f"its certificate could not be verified for {name}: {error.verify_message}",
                            "give the authority that signed it: Tls(ca=FILE); Tls(server_name=NAME) sets the "
                            "expected name")
    except ssl.SSLError as error:
        return _refused(target, error)
    except (OSError, ValueError) as error:
        return _unreachable(target, getattr(error, "strerror", None) or str(error),
                            "check that ptrace-profd runs there with --listen-tcp, and that no firewall blocks it")
    return None

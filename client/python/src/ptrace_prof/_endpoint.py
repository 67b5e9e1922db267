"""Where the daemon listens when nobody says otherwise, and how a channel to it is opened."""
from __future__ import annotations

import os
from typing import Optional

# A chunk holds at most 1 MiB unless a single packet is larger; the trace of a dump comes in one message.
OPTIONS: list[tuple[str, int]] = [("grpc.max_receive_message_length", 256 << 20), ("grpc.enable_http_proxy", 0)]


def default_target() -> str:
    """/run/ptrace-prof/ptrace-prof.sock for root, the same below $XDG_RUNTIME_DIR for everybody else."""
    runtime = "/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}"
    return f"unix:{runtime}/ptrace-prof/ptrace-prof.sock"


def resolve(target: Optional[str]) -> str:
    """`target` as gRPC writes it; a plain path is a Unix socket."""
    if not target:
        return default_target()
    return f"unix:{target}" if target.startswith(("/", "./", "../")) else target

"""The values that the server returns. Durations are seconds (float), moments are seconds since 1970-01-01 UTC."""
from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Optional

from ._table import Row, check_by, rows_of


class State(enum.Enum):
    """The state of a capture: PENDING, RUNNING, DRAINING, then one of the last three."""

    UNSPECIFIED = "UNSPECIFIED"
    PENDING = "PENDING"
    ARMED = "ARMED"
    RUNNING = "RUNNING"
    DRAINING = "DRAINING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def ended(self) -> bool:
        return self in (State.SUCCEEDED, State.FAILED, State.CANCELLED)


@dataclass(frozen=True)
class Totals:
    """Counters of a whole capture so far. A stop is one brief stop of one thread; times are seconds."""

    samples: int = 0          #: samples of a thread, of all qualities
    truncated: int = 0        #: samples of which a part of the stack could not be read, or was too deep
    torn: int = 0             #: samples whose stack moved while it was read without a stop; cut where it moved
    stale_names: int = 0      #: whole samples with code that was freed before its name could be read
    lost: int = 0             #: samples that could not be read at all
    late_instants: int = 0    #: instants at which the collector woke more than 200 us late
    missed_rounds: int = 0    #: instants at which the collector took no sample
    refused_stops: int = 0    #: stops that another tracer of the thread prevented
    interrupted_waits: int = 0  #: system calls of the process that a stop ended early (EINTR)
    idle_skipped: int = 0     #: samples left out because the thread waited
    stops: int = 0
    stopped_time: float = 0.0        #: sum of all stops
    stop_p50: float = 0.0            #: median of the stops
    stop_p90: float = 0.0            #: 90th percentile of the stops
    stop_longest: float = 0.0
    collector_cpu_time: float = 0.0
    wall_time: float = 0.0
    actual_rate_hz: float = 0.0      #: samples per second of each thread
    processes: int = 0
    threads: int = 0
    call_events: int = 0       #: mode "trace": calls and returns that threads recorded
    call_events_lost: int = 0  #: mode "trace": calls and returns for which the buffer had no room
    events_outside_steps: int = 0  #: mode "trace": calls and returns outside of the steps to record
    steps: int = 0             #: mode "trace": whole steps of the job that were recorded
    children_not_traced: int = 0   #: mode "trace": children of the process that were seen, and not traced
    holds: int = 0             #: mode "trace" with on_full="throttle": waits of a thread for room in the buffer
    held_time: float = 0.0     #: sum of these waits


@dataclass(frozen=True)
class Capture:
    """The state of a capture at one moment."""

    name: str                       #: "nodes/NODE/captures/ID"
    state: State
    pid: int = 0
    create_time: Optional[float] = None
    start_time: Optional[float] = None  #: the moment at which it became RUNNING
    end_time: Optional[float] = None
    trace_bytes: int = 0            #: size of the trace so far
    totals: Totals = Totals()
    end_message: str = ""           #: how it ended, as text for people
    notices: tuple[str, ...] = ()   #: its costs for the target, what the trace lacks and why; texts for people
    owner_uid: int = 0
    keep: bool = False              #: the capture outlives the client that created it
    error: Optional[Exception] = None  #: FAILED: the cause, a PtraceProfError
    mode: str = ""                  #: "sample" or "trace"; empty before the server has chosen
    sampled_because: str = ""       #: why mode "auto" chose "sample"


@dataclass(frozen=True)
class Variable:
    name: str
    value: str  #: a short text
    is_argument: bool = False


@dataclass(frozen=True)
class StackFrame:
    function: str  #: qualified name
    file: str
    line: int      #: the line that it executes; 0: unknown
    locals: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class ThreadStack:
    """The stack and the state of one thread."""

    pid: int
    tid: int
    name: str
    is_main: bool
    holds_gil: bool
    state: str         #: "running", "idle", "gil-wait", "gpu-wait", "disk-wait", "job-stopped", "unknown"
    state_detail: str  #: "epoll_wait"; may be empty
    truncated: bool    #: a part of the stack could not be read, or is beyond max_depth
    frames: tuple[StackFrame, ...] = ()  #: innermost first; empty: a native thread
    torn: bool = False  #: the stack moved while it was read without a stop (nonblocking=True)

    def __str__(self) -> str:
        what = f"{self.state} ({self.state_detail})" if self.state_detail else self.state
        lines = [f"Thread {self.tid} {self.name!r} of process {self.pid}: {what}{', holds the GIL' * self.holds_gil}"]
        lines += [f"    {frame.function} ({frame.file}:{frame.line})" for frame in self.frames]
        return "\n".join(lines)


@dataclass(frozen=True)
class PythonProcess:
    """A Python process of the node, and whether the caller may profile it."""

    pid: int
    ns_pid: int            #: its ID inside its own PID namespace
    uid: int
    name: str              #: the kernel's name for it (comm)
    command: tuple[str, ...]
    python_version: str    #: "3.11.7"; empty: unknown
    container: str         #: "docker:0123456789ab"; empty: none
    job_id: str            #: the job of Slurm
    job_step: str
    rank: Optional[int]
    world_size: Optional[int]
    local_rank: Optional[int]
    gpu_libraries: tuple[str, ...]
    start_time: Optional[float]
    start_time_ticks: int  #: clock ticks since boot; the start_time_ticks of a capture
    profilable: bool
    reason: str            #: why it is not profilable; with `profilable`: what limits the profile
    remedy: str
    reason_code: str = ""  #: `reason` in one word of docs/api.md, "YAMA_DENIED"; empty where there is none


@dataclass(frozen=True)
class Check:
    """One thing that profiling needs."""

    subject: str   #: "yama", "capabilities", …
    verdict: str   #: "OK", "LIMITED" (works, with less), "MISSING"
    cause: str     #: what the server found
    remedy: str    #: what the caller can do; empty where nothing is needed
    pid: int = 0   #: the process that it is about; 0: the node
    code: str = ""  #: MISSING: the code with which a capture would fail, "PERMISSION_DENIED"; else empty
    reason: str = ""  #: the obstacle or limit in one word of docs/api.md; empty where there is none


class ProcessList(list[PythonProcess]):
    """The processes of a node, ordered by ID."""

    limits: tuple[Check, ...] = ()  #: why the list may be incomplete


@dataclass(frozen=True)
class Node:
    """The machine that the server runs on, and what works there for the caller."""

    name: str      #: "nodes/HOST"
    version: str   #: the version of ptrace-prof
    boot_id: str
    kernel: str
    architecture: str
    time: Optional[float]
    monotonic: float  #: CLOCK_MONOTONIC at `time`, seconds: the clock of this node's traces
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class SampledThread:
    """A thread in one interval of live samples."""

    pid: int
    tid: int
    name: str
    process_name: str
    stacks: tuple[tuple[tuple[StackFrame, ...], int], ...]  #: (frames, innermost first; number of samples)


@dataclass(frozen=True)
class SampleBatch:
    """The live samples of one interval."""

    begin: float
    end: float
    threads: tuple[SampledThread, ...]
    totals: Totals  #: the counters of the capture so far
    thinned: int    #: samples of this interval that were left out: the client was slow, or there were too many

    @property
    def samples(self) -> int:
        return sum(count for thread in self.threads for _, count in thread.stacks)

    def table(self, limit: Optional[int] = 40, by: str = "function") -> list[Row]:
        """Returns the rows of Trace.table() for this interval alone; with by="function" the line is 0 (unknown)."""
        check_by(by)
        return rows_of((([(frame.function, frame.file, frame.line if by == "line" else 0) for frame in frames], count)
                        for thread in self.threads for frames, count in thread.stacks), limit)

"""What the server says, as plain values. Times are seconds (float), moments are seconds since 1970-01-01 UTC."""
from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Optional

from ._table import Row, check_by, rows_of


class State(enum.Enum):
    """Of a capture: PENDING, RUNNING, DRAINING, then one of the last three."""

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
    """Counts of a whole capture so far."""

    samples: int = 0          #: samples of a thread, of all qualities
    truncated: int = 0        #: a part of the stack could not be read, or it was too deep
    torn: int = 0             #: moved while it was read without a stop, and is cut where it moved
    stale_names: int = 0      #: whole, but code of it was freed before its name could be read
    lost: int = 0             #: could not be read at all
    late_instants: int = 0    #: at which the collector woke more than 200 us late
    missed_rounds: int = 0    #: instants never taken
    refused_stops: int = 0    #: another tracer had the thread
    interrupted_waits: int = 0  #: system calls of the process that a stop ended early (EINTR)
    idle_skipped: int = 0     #: left out because the thread waited
    stops: int = 0            #: brief stops of a thread
    stopped_time: float = 0.0        #: seconds
    stop_p50: float = 0.0            #: half of the stops took no longer; seconds
    stop_p90: float = 0.0            #: seconds
    stop_longest: float = 0.0        #: seconds
    collector_cpu_time: float = 0.0  #: seconds
    wall_time: float = 0.0           #: seconds
    actual_rate_hz: float = 0.0      #: samples per second of each thread
    processes: int = 0
    threads: int = 0
    call_events: int = 0       #: mode "trace": calls and returns that threads told of
    call_events_lost: int = 0  #: mode "trace": the buffer had no room for them
    events_outside_steps: int = 0  #: mode "trace": told while no step was to be recorded
    steps: int = 0             #: mode "trace": whole steps of the job that were recorded
    children_not_traced: int = 0   #: mode "trace": of the process, seen meanwhile
    holds: int = 0             #: mode "trace" with on_full="throttle": how often a thread waited for room
    held_time: float = 0.0     #: how long, all of them together; seconds


@dataclass(frozen=True)
class Capture:
    """A capture as the server has it at one moment."""

    name: str                       #: "nodes/NODE/captures/ID"
    state: State
    pid: int = 0
    create_time: Optional[float] = None
    start_time: Optional[float] = None  #: RUNNING since
    end_time: Optional[float] = None
    trace_bytes: int = 0            #: size of the trace so far
    totals: Totals = Totals()
    end_message: str = ""           #: how it ended, for people
    notices: tuple[str, ...] = ()   #: what it costs the target, what is not in the trace and why; for people
    owner_uid: int = 0
    keep: bool = False              #: outlives the client that asked for it
    error: Optional[Exception] = None  #: FAILED: why, a PtraceProfError
    mode: str = ""                  #: how it is carried out: "sample" or "trace"; empty before that is settled
    sampled_because: str = ""       #: mode "auto" that came to "sample": why


@dataclass(frozen=True)
class Variable:
    name: str
    value: str  #: a short text
    is_argument: bool = False


@dataclass(frozen=True)
class StackFrame:
    function: str  #: qualified name
    file: str
    line: int      #: 0: not known
    locals: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class ThreadStack:
    """What one thread was doing."""

    pid: int
    tid: int
    name: str
    is_main: bool
    holds_gil: bool
    state: str         #: "running", "idle", "gil-wait", "gpu-wait", "disk-wait", "job-stopped", "unknown"
    state_detail: str  #: "epoll_wait"; may be empty
    truncated: bool    #: a part of it could not be read, or is beyond max_depth
    frames: tuple[StackFrame, ...] = ()  #: innermost first; empty: a native thread
    torn: bool = False  #: it moved while it was read without a stop (nonblocking=True)

    def __str__(self) -> str:
        what = f"{self.state} ({self.state_detail})" if self.state_detail else self.state
        lines = [f"Thread {self.tid} {self.name!r} of process {self.pid}: {what}{', holds the GIL' * self.holds_gil}"]
        lines += [f"    {frame.function} ({frame.file}:{frame.line})" for frame in self.frames]
        return "\n".join(lines)


@dataclass(frozen=True)
class PythonProcess:
    """A Python process of the node, and whether the caller may profile it."""

    pid: int
    ns_pid: int            #: inside its own PID namespace
    uid: int
    name: str              #: of the kernel (comm)
    command: tuple[str, ...]
    python_version: str    #: "3.11.7"; empty: not known
    container: str         #: "docker:0123456789ab"; empty: none
    job_id: str            #: of Slurm
    job_step: str
    rank: Optional[int]
    world_size: Optional[int]
    local_rank: Optional[int]
    gpu_libraries: tuple[str, ...]
    start_time: Optional[float]
    start_time_ticks: int  #: for start_time_ticks of a capture
    profilable: bool
    reason: str            #: why not; with `profilable`: what limits it
    remedy: str
    reason_code: str = ""  #: the same in one word of docs/api.md, "YAMA_DENIED"; empty where there is none


@dataclass(frozen=True)
class Check:
    """One thing that profiling needs."""

    subject: str   #: "yama", "capabilities", …
    verdict: str   #: "OK", "LIMITED" (works, with less), "MISSING"
    cause: str     #: what was found
    remedy: str    #: what to do; empty where nothing is needed
    pid: int = 0   #: about this process; 0: about the node
    code: str = ""  #: MISSING: what a capture would fail with, "PERMISSION_DENIED"; else empty
    reason: str = ""  #: what stands in the way, or limits it, in one word of docs/api.md; empty where all is well


class ProcessList(list[PythonProcess]):
    """The processes of a node, by ID."""

    limits: tuple[Check, ...] = ()  #: why the list may lack something


@dataclass(frozen=True)
class Node:
    """The machine that the server runs on, and what works there for the caller."""

    name: str      #: "nodes/HOST"
    version: str   #: of ptrace-prof
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
    stacks: tuple[tuple[tuple[StackFrame, ...], int], ...]  #: (frames, innermost first; how often it was seen)


@dataclass(frozen=True)
class SampleBatch:
    """The live samples of one interval."""

    begin: float
    end: float
    threads: tuple[SampledThread, ...]
    totals: Totals  #: of the capture so far
    thinned: int    #: samples of this interval that were left out because we were slow

    @property
    def samples(self) -> int:
        return sum(count for thread in self.threads for _, count in thread.stacks)

    def table(self, limit: Optional[int] = 40, by: str = "function") -> list[Row]:
        """As Trace.table(), of this interval alone; with by="function" the line is 0: where it begins is not known."""
        check_by(by)
        return rows_of((([(frame.function, frame.file, frame.line if by == "line" else 0) for frame in frames], count)
                        for thread in self.threads for frames, count in thread.stacks), limit)

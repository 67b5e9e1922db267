"""What can be asked of a capture, and the requests that ask it. The server judges the values, not we."""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Optional

from typing_extensions import Literal, TypedDict

from ._proto import capture_pb2, capture_service_pb2
from .errors import InvalidRequest

_IDLE = {"main": capture_pb2.IDLE_POLICY_MAIN, "all": capture_pb2.IDLE_POLICY_ALL, "none": capture_pb2.IDLE_POLICY_NONE}
_ON_FULL = {"drop": capture_pb2.ON_FULL_DROP, "stop": capture_pb2.ON_FULL_STOP,
            "throttle": capture_pb2.ON_FULL_THROTTLE}
_GPU = {"off": capture_pb2.GPU_DETAIL_UNSPECIFIED, "coarse": capture_pb2.GPU_DETAIL_COARSE,
        "default": capture_pb2.GPU_DETAIL_DEFAULT, "full": capture_pb2.GPU_DETAIL_FULL}
_MODES = {"sample": capture_pb2.MODE_SAMPLE, "trace": capture_pb2.MODE_TRACE, "auto": capture_pb2.MODE_AUTO}


class StepSchedule(TypedDict, total=False):
    """torch.profiler.schedule: which steps of a training job are recorded; all but `active` may be left out (0).

    `skip_first` steps, then `repeat` times (0: for ever) `wait` and `warmup` steps that are not recorded and `active`
    ones that are.
    """

    skip_first: int
    wait: int
    warmup: int
    active: int
    repeat: int


class CaptureOptions(TypedDict, total=False):
    """Keywords of record(), create_capture() and samples(); all of them may be left out, None is as left out.

    duration: seconds. Left out: until the target ends, the capture is cancelled or the server's limit is reached.
    mode: "sample": look at the stacks many times a second. "trace": every call and return, by a tracer that is brought
        into the process; what is about samples alone does not go with it. "auto": "trace" where the process can be
        traced without harm, else "sample"; Capture.mode says which, Capture.sampled_because why.
    c_calls: with mode "trace", calls of C functions too.
    buffer_bytes: with mode "trace", memory shared with the target for its events. Left out: 64 MiB.
    min_duration: with mode "trace", calls that take less, in seconds, are left out, and counted. Left out: none.
    steps: with mode "trace", so many whole steps, and nothing else, of a torch.optim.Optimizer; `duration` is then the
        most.
    schedule: with mode "trace", which steps are recorded, and how many; not with `steps`.
    on_full: with mode "trace", what is done when the memory for events is full: "drop" (they are lost until there is
        room, counted, and shown as a gap), "throttle" (the thread waits for room, and with it all that wait for the
        GIL; Totals.holds and held_time say how long) or "stop" (the capture ends). Left out: "drop".
    filter: with mode "trace", only functions whose qualified name, module or file one of these patterns matches:
        ["train.*", "Model.forward"]. Left out: all.
    exclude: with mode "trace", none that one of these patterns matches.
    force: with mode "trace" or `gpu`, also where the target disabled remote debugging; with `gpu`, also where the CUPTI
        of the target is known to crash jobs, or its GPU is nearly full.
    rate_hz: samples per second of each thread; math.inf: as fast as it goes, without stops. Left out: 100.
    max_overhead: CPU time that the collector may use, as a share of one core, above 0, at most 1; the rate goes down
        to keep it. math.inf or left out: no limit. With mode "trace": what it may cost the target, of one core;
        functions are switched off to keep it, and named in the trace (CPython 3.12 and later). Left out: no limit;
        with mode "auto" 0.05, and a target that cannot be kept to it is sampled.
    max_depth: frames of one stack that are kept. Left out: 4096.
    idle: of threads that wait, record "main" (samples of main threads only), "all" or "none".
    threads: only these thread IDs.
    gpu: what is recorded of the GPU beside Python: "off", "coarse" (kernels and their launches), "default" (and copies,
        synchronisations, memory calls) or "full" (and events). What stands in its way is in Capture.notices.
    gil_only: only the thread that holds the GIL.
    subprocesses: False leaves out the children of the target.
    blocking: stop the whole target for every sample: all its threads at one instant. Left out: only a thread that runs
        is stopped, for some tens of microseconds; threads that wait are read as they stand.
    nonblocking: nothing is stopped; a stack that moves while it is read is cut and marked torn. stops=False: its former
        name.
    wait_for_python: the target may not be a Python process yet; wait until it, or a child, is one.
    max_bytes: the capture ends well when its trace has reached this size, bytes.
    keep: the capture, with its trace, outlives this client.
    start_time_ticks: the process must have started then (PythonProcess.start_time_ticks), else ProcessNotFound.
    """

    duration: Optional[float]
    mode: Literal["sample", "trace", "auto"]
    c_calls: bool
    buffer_bytes: Optional[int]
    min_duration: Optional[float]
    steps: Optional[int]
    schedule: Optional[StepSchedule]
    on_full: Literal["drop", "stop", "throttle"]
    filter: Iterable[str]
    exclude: Iterable[str]
    force: bool
    rate_hz: Optional[float]
    max_overhead: Optional[float]
    max_depth: Optional[int]
    idle: Literal["main", "all", "none"]
    threads: Iterable[int]
    gpu: Literal["off", "coarse", "default", "full"]
    gil_only: bool
    subprocesses: bool
    blocking: bool
    nonblocking: bool
    stops: bool
    wait_for_python: bool
    max_bytes: Optional[int]
    keep: bool
    start_time_ticks: Optional[int]


def _one_of(table: Any, option: str, value: Any) -> Any:
    if value not in table:
        raise InvalidRequest(f"{option}={value!r}: it is one of {', '.join(map(repr, table))}")
    return table[value]


def set_duration(message: Any, field: str, value: Optional[float]) -> None:
    """Sets a google.protobuf.Duration, unless None."""
    if value is None:
        return
    if not math.isfinite(value):
        raise InvalidRequest(f"{field}={value!r}: it is a number of seconds")
    nanos = round(value * 1e9)
    sign = -1 if nanos < 0 else 1
    duration = getattr(message, field)
    try:
        duration.seconds, duration.nanos = sign * (abs(nanos) // 10**9), sign * (abs(nanos) % 10**9)
    except ValueError as error:
        raise InvalidRequest(f"{field}={value!r}: {error}") from None
    duration.SetInParent()


def target(pid: int, start_time_ticks: Optional[int] = None) -> capture_pb2.Target:
    return _checked(  # type: ignore[no-any-return]
        capture_pb2.Target, pid=pid, start_time_ticks=start_time_ticks)


def _checked(message: Any, **fields: Any) -> Any:
    """A message from what is not None; what does not fit its field is an InvalidRequest that names it."""
    made = message()
    for name, value in fields.items():
        if value is None:
            continue
        try:
            if isinstance(value, (list, tuple)):
                getattr(made, name).extend(value)
            elif hasattr(value, "DESCRIPTOR"):
                getattr(made, name).CopyFrom(value)
            else:
                setattr(made, name, value)
        except (TypeError, ValueError) as error:
            raise InvalidRequest(f"{name}={value!r}: {error}") from None
    return made


def _sample(options: CaptureOptions) -> capture_pb2.SampleOptions:
    rate = options.get("rate_hz")
    overhead = None if options.get("mode") == "trace" else options.get("max_overhead")
    idle = options.get("idle")
    return _checked(  # type: ignore[no-any-return]
        capture_pb2.SampleOptions, rate_hz=None if rate == math.inf else rate, as_fast_as_possible=rate == math.inf,
        max_overhead=None if overhead == math.inf else overhead, no_overhead_limit=overhead == math.inf,
        max_depth=options.get("max_depth"), idle=_one_of(_IDLE, "idle", idle) if idle else None,
        threads=list(options.get("threads") or ()), gil_only=options.get("gil_only"),
        no_subprocesses=not options.get("subprocesses", True), blocking=options.get("blocking"),
        nonblocking=options.get("nonblocking") or not options.get("stops", True),
        wait_for_python=options.get("wait_for_python"))


def _schedule(schedule: Optional[StepSchedule]) -> Optional[capture_pb2.StepSchedule]:
    if schedule is None:
        return None
    unknown = sorted(set(schedule) - set(StepSchedule.__annotations__))
    if unknown:
        raise InvalidRequest(f"schedule: there is no {', '.join(unknown)}; there are: "
                             f"{', '.join(StepSchedule.__annotations__)}")
    return _checked(capture_pb2.StepSchedule, **schedule)  # type: ignore[no-any-return]


def _globs(option: str, value: Optional[Iterable[str]]) -> list[str]:
    if isinstance(value, str):
        raise InvalidRequest(f"{option}={value!r}: it is a list of patterns")
    return list(value or ())


def _trace(options: CaptureOptions) -> Optional[capture_pb2.TraceOptions]:
    names = ("c_calls", "buffer_bytes", "steps")
    globs = {"filter": _globs("filter", options.get("filter")), "exclude": _globs("exclude", options.get("exclude"))}
    others = ("min_duration", "schedule", "on_full", *globs)
    is_trace = options.get("mode") in ("trace", "auto")
    if not is_trace and not any(options.get(name) for name in (*names, *others)):
        return None
    on_full = options.get("on_full")
    overhead = options.get("max_overhead") if is_trace else None
    message = _checked(capture_pb2.TraceOptions, **{name: options.get(name) for name in names}, **globs,
                       schedule=_schedule(options.get("schedule")),
                       on_full=None if on_full is None else _one_of(_ON_FULL, "on_full", on_full),
                       max_overhead=None if overhead == math.inf else overhead, no_overhead_limit=overhead == math.inf)
    set_duration(message, "min_duration", options.get("min_duration"))
    return message  # type: ignore[no-any-return]


def capture_spec(pid: int, options: CaptureOptions) -> capture_pb2.CaptureSpec:
    unknown = sorted(set(options) - set(CaptureOptions.__annotations__))
    if unknown:
        raise TypeError(f"there is no option {', '.join(unknown)}; there are: "
                        f"{', '.join(CaptureOptions.__annotations__)}")
    spec = _checked(capture_pb2.CaptureSpec, target=target(pid, options.get("start_time_ticks")),
                    mode=_one_of(_MODES, "mode", options.get("mode") or "sample"), sample=_sample(options),
                    gpu=_one_of(_GPU, "gpu", options.get("gpu") or "off"), trace=_trace(options),
                    max_bytes=options.get("max_bytes"), keep=options.get("keep"),
                    force=options.get("force"))
    set_duration(spec, "duration", options.get("duration"))
    return spec  # type: ignore[no-any-return]


def create_request(pid: int, options: CaptureOptions, capture_id: str, request_id: str,
                   validate_only: bool) -> capture_service_pb2.CreateCaptureRequest:
    return capture_service_pb2.CreateCaptureRequest(spec=capture_spec(pid, options), capture_id=capture_id,
                                                    request_id=request_id, validate_only=validate_only)


def samples_request(pid: int, interval: Optional[float],
                    options: CaptureOptions) -> capture_service_pb2.StreamSamplesRequest:
    request = capture_service_pb2.StreamSamplesRequest(spec=capture_spec(pid, options))
    set_duration(request, "interval", interval)
    return request


def dump_request(pid: int, *, start_time_ticks: Optional[int] = None, subprocesses: bool = True, locals: bool = False,
                 blocking: bool = False, nonblocking: bool = False, stops: bool = True,
                 max_depth: Optional[int] = None) -> capture_service_pb2.DumpStacksRequest:
    return _checked(  # type: ignore[no-any-return]
        capture_service_pb2.DumpStacksRequest, target=target(pid, start_time_ticks), no_subprocesses=not subprocesses,
        locals=locals, blocking=blocking, nonblocking=nonblocking or not stops, max_depth=max_depth)


def processes_request(*, uid: Optional[int] = None, name: str = "", job_id: str = "", rank: Optional[int] = None,
                      container: str = "", profilable: bool = False,
                      page_size: int = 0) -> capture_service_pb2.ListProcessesRequest:
    chosen = _checked(capture_service_pb2.ProcessFilter, uid=uid, name=name, job_id=job_id, rank=rank,
                      container=container, profilable=profilable)
    return _checked(  # type: ignore[no-any-return]
        capture_service_pb2.ListProcessesRequest, page_size=page_size, filter=chosen)

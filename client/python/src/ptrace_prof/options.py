"""Turns keywords into requests. The server checks the values.

The mapping from keywords to fields stands beside the fields of CaptureSpec (ptraceprof/v1/option.proto).
"""
from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional

from ._capture_options import CaptureOptions, StepSchedule
from ._proto import capture_pb2, capture_service_pb2, option_pb2
from .errors import InvalidRequest

__all__ = ["CaptureOptions", "StepSchedule"]

_Option: Any = option_pb2.Option


class _Row(NamedTuple):
    """One row of the table: a field, the names of the messages that lead to it, and its keyword."""

    way: tuple[str, ...]
    field: Any
    option: Any
    keyword: str
    is_opposite: bool


def _walk(message: Any, way: tuple[str, ...] = ()) -> Iterator[_Row]:
    for field in message.fields:
        option = field.GetOptions().Extensions[option_pb2.option]
        keyword = option.keyword or field.name
        if option.kind and keyword != "-":
            yield _Row(way, field, option, re.sub("^not ", "", keyword), keyword.startswith("not "))
        if field.message_type is not None and field.message_type.file == message.file and not option.kind:
            yield from _walk(field.message_type, (*way, field.name))


_ROWS = tuple(_walk(capture_pb2.CaptureSpec.DESCRIPTOR))
_MODE = next(row for row in _ROWS if row.keyword == "mode")


def _choices(field: Any) -> dict[str, int]:
    prefix = re.sub("(?<!^)(?=[A-Z])", "_", field.enum_type.name).upper() + "_"
    words = {value.name[len(prefix):].lower(): value.number for value in field.enum_type.values}
    unsaid = words.pop("unspecified")
    return {"off": unsaid, **words} if field.name == "gpu" else words


def _goes_with(row: _Row, mode: int) -> bool:
    """Whether the field of the row applies with this mode; decides between two fields with the same keyword."""
    if row.option.modes == _Option.CALLS:
        return mode in (capture_pb2.MODE_TRACE, capture_pb2.MODE_AUTO)
    return row.option.modes == _Option.ALL or mode != capture_pb2.MODE_TRACE


def _one_of(option: str, words: dict[str, int], value: Any) -> int:
    if value not in words:
        raise InvalidRequest(f"{option}={value!r}: must be one of {', '.join(map(repr, words))}")
    return words[value]


def set_duration(message: Any, field: str, value: Optional[float]) -> None:
    """Sets a google.protobuf.Duration, unless None."""
    if value is None:
        return
    if not math.isfinite(value):
        raise InvalidRequest(f"{field}={value!r}: must be a number of seconds")
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


def _set(message: Any, name: str, value: Any, asked: str) -> None:
    try:
        if isinstance(value, (list, tuple)):
            getattr(message, name).extend(value)
        elif hasattr(value, "DESCRIPTOR"):
            getattr(message, name).CopyFrom(value)
        else:
            setattr(message, name, value)
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"{asked}: {error}") from None


def _checked(message: Any, **fields: Any) -> Any:
    """Returns a message with the fields that are not None. Raises InvalidRequest for a value that does not fit."""
    made = message()
    for name, value in fields.items():
        if value is not None:
            _set(made, name, value, f"{name}={value!r}")
    return made


def _schedule(schedule: Any) -> Any:
    unknown = sorted(set(schedule) - set(StepSchedule.__annotations__))
    if unknown:
        raise InvalidRequest(f"schedule: unknown key {', '.join(unknown)}; the keys are "
                             f"{', '.join(StepSchedule.__annotations__)}")
    return _checked(capture_pb2.StepSchedule, **schedule)


def _globs(option: str, value: Any) -> list[str]:
    if isinstance(value, str):
        raise InvalidRequest(f"{option}={value!r}: must be a list of patterns")
    return list(value)


def _pairs(option: str, value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{option}={value!r}: must be a mapping of texts")
    if unfit := [key for key in value if "=" in str(key)]:
        raise InvalidRequest(f"{option}: a key has no '=', unlike {', '.join(map(repr, unfit))}")
    return [f"{key}={text}" for key, text in value.items()]


def _put(row: _Row, message: Any, value: Any) -> None:
    kind, name = row.option.kind, row.field.name
    if kind == _Option.TIME:
        return set_duration(message, name, value)
    if row.option.unlimited and value == math.inf:
        name, value = row.option.unlimited, True
    elif kind == _Option.CHOICE:
        value = _one_of(row.keyword, _choices(row.field), value)
    elif kind == _Option.GLOBS:
        value = _globs(row.keyword, value)
    elif kind == _Option.PAIRS:
        value = _pairs(row.keyword, value)
    elif kind == _Option.IDS:
        value = list(value)
    elif kind == _Option.SCHEDULE:
        value = _schedule(value)
    elif row.is_opposite:
        value = not value
    return _set(message, name, value, f"{row.keyword}={value!r}")


def capture_spec(pid: int, options: CaptureOptions) -> capture_pb2.CaptureSpec:
    asked = {name: value for name, value in options.items() if value is not None}
    unknown = sorted(set(asked) - {row.keyword for row in _ROWS})
    if unknown:
        raise TypeError(f"unknown option {', '.join(unknown)}; the options are "
                        f"{', '.join(sorted({row.keyword for row in _ROWS}))}")
    spec = _checked(capture_pb2.CaptureSpec, target=target(pid),
                    mode=_one_of("mode", _choices(_MODE.field), asked.get("mode") or "sample"))
    for row in _ROWS:
        shared = [other for other in _ROWS if other.keyword == row.keyword]
        if row.keyword not in asked or (len(shared) > 1 and not _goes_with(row, spec.mode)):
            continue
        message: Any = spec
        for name in row.way:
            message = getattr(message, name)
        _put(row, message, asked[row.keyword])
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

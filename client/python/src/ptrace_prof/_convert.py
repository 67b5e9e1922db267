"""Converts the messages of ptraceprof.v1 to the values of model.py."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Optional

from . import model
from ._proto import capture_pb2, capture_service_pb2, node_service_pb2
from ._status import code_name, from_status
from .errors import DataLoss


def seconds(moment: Any) -> float:
    """Converts a Duration or a Timestamp."""
    return float(moment.seconds + moment.nanos / 1e9)


def _if_set(message: Any, field: str) -> Any:
    return getattr(message, field) if message.HasField(field) else None


def _time(message: Any, field: str) -> Optional[float]:
    return seconds(getattr(message, field)) if message.HasField(field) else None


def _plain(value: Any) -> Any:
    """Returns a number unchanged, a Duration as seconds."""
    return value if isinstance(value, (int, float)) else seconds(value)


def totals(message: capture_pb2.Totals) -> model.Totals:
    values: dict[str, Any] = {field.name: _plain(getattr(message, field.name))
                              for field in dataclasses.fields(model.Totals)}
    return model.Totals(**values)


def state(number: int) -> model.State:
    """Returns UNSPECIFIED for a state that only a newer server knows."""
    try:
        return model.State(capture_pb2.State.Name(number)[len("STATE_"):])
    except ValueError:
        return model.State.UNSPECIFIED


def capture(message: capture_pb2.Capture) -> model.Capture:
    return model.Capture(
        name=message.name, state=state(message.state), pid=message.spec.target.pid,
        create_time=_time(message, "create_time"), start_time=_time(message, "start_time"),
        end_time=_time(message, "end_time"), trace_bytes=message.trace_bytes, totals=totals(message.totals),
        end_message=message.end_message, notices=tuple(message.notices), owner_uid=message.owner_uid,
        keep=message.spec.keep,
        error=from_status(message.error) if message.HasField("error") else None,
        mode={capture_pb2.MODE_SAMPLE: "sample", capture_pb2.MODE_TRACE: "trace"}.get(message.mode, ""),
        sampled_because=message.sampled_because)


def thread_stack(message: capture_service_pb2.ThreadStack) -> model.ThreadStack:
    frames = tuple(
        model.StackFrame(frame.function, frame.file, frame.line,
                         tuple(model.Variable(one.name, one.value, one.is_argument) for one in frame.locals))
        for frame in message.frames)
    return model.ThreadStack(message.pid, message.tid, message.name, message.is_main, message.holds_gil, message.state,
                             message.state_detail, message.truncated, frames, message.torn)


def process(message: capture_service_pb2.PythonProcess) -> model.PythonProcess:
    return model.PythonProcess(
        pid=message.pid, ns_pid=message.ns_pid, uid=message.uid, name=message.name, command=tuple(message.command),
        python_version=message.python_version, container=message.container, job_id=message.job_id,
        job_step=message.job_step, rank=_if_set(message, "rank"), world_size=_if_set(message, "world_size"),
        local_rank=_if_set(message, "local_rank"), gpu_libraries=tuple(message.gpu_libraries),
        start_time=_time(message, "start_time"), start_time_ticks=message.start_time_ticks,
        profilable=message.profilable, reason=message.reason, remedy=message.remedy,
        reason_code=message.reason_code)


def _verdict(number: int) -> str:
    try:
        return str(node_service_pb2.Check.Verdict.Name(number))[len("VERDICT_"):]
    except ValueError:
        return "UNSPECIFIED"


def checks(messages: Iterable[node_service_pb2.Check]) -> tuple[model.Check, ...]:
    return tuple(model.Check(one.subject, _verdict(one.verdict), one.cause, one.remedy, one.pid,
                             code_name(one.code) if one.code else "", one.reason) for one in messages)


def node(message: node_service_pb2.Node) -> model.Node:
    return model.Node(message.name, message.version, message.boot_id, message.kernel, message.architecture,
                      _time(message, "time"), message.monotonic_ns / 1e9, checks(message.checks))


class BatchAssembler:
    """Joins the messages of one batch, and rebuilds each stack from its links to the callers."""

    def __init__(self) -> None:
        self._frames: list[model.StackFrame] = []
        self._stacks: list[tuple[int, int]] = []  # index of the frame, number of the caller's stack (0: none)
        self._threads: dict[tuple[int, int], model.SampledThread] = {}

    def __call__(self, message: capture_service_pb2.SampleBatch) -> Optional[model.SampleBatch]:
        """Returns the batch at its last message, else None. Raises DataLoss where an index is outside its table."""
        self._frames += [model.StackFrame(frame.function, frame.file, frame.line) for frame in message.frames]
        for stack in message.stacks:
            if stack.parent > len(self._stacks) or stack.frame >= len(self._frames):
                raise _points_nowhere()
            self._stacks.append((stack.frame, stack.parent))
        for one in message.threads:
            self._add(one)
        if message.more:
            return None
        whole = model.SampleBatch(seconds(message.begin), seconds(message.end), tuple(self._threads.values()),
                                  totals(message.totals), message.thinned)
        self._frames, self._stacks, self._threads = [], [], {}
        return whole

    def _add(self, part: capture_service_pb2.SampledThread) -> None:
        seen = tuple((self._stack(number), count) for number, count in zip(part.stacks, part.counts))
        known = self._threads.get((part.pid, part.tid))
        self._threads[part.pid, part.tid] = (
            model.SampledThread(part.pid, part.tid, part.name, part.process_name, seen) if known is None
            else dataclasses.replace(known, stacks=known.stacks + seen))

    def _stack(self, number: int) -> tuple[model.StackFrame, ...]:
        if number > len(self._stacks):
            raise _points_nowhere()
        frames = []
        while number:
            frame, number = self._stacks[number - 1]
            frames.append(self._frames[frame])
        return tuple(frames)


def _points_nowhere() -> DataLoss:
    return DataLoss("the server sent a batch of samples that names stacks or frames which are not in it")

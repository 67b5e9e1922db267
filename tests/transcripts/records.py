"""The buffers of a transcript and the records in them: which threads requested a buffer, gave it back, and what they
did meanwhile; and of each record what two runs have in common. Addresses, times and numbers that a library chooses are
not.

Where a record ends comes from the transcript's own library (cuptiActivityGetNextRecord). Where its fields are comes
from tests/targets/cupti_client.py, as in the tests of the double.
"""
import collections
import pathlib
import struct
import sys
from dataclasses import dataclass, field

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "targets"))
from cupti_client import (  # noqa: E402
    CONTEXT, DEVICE, DRIVER, FIELDS, GRAPH_TRACE, JIT, KERNEL, MEMCPY, MEMSET, OVERHEAD, RUNTIME, STREAM, SYNCHRONIZATION)

NEXT_RECORD = "cuptiActivityGetNextRecord"
CALLS = {DRIVER: 1, RUNTIME: 2}  # kind: domain
NAMES = {KERNEL: "a kernel", MEMCPY: "a copy", MEMSET: "a memset", SYNCHRONIZATION: "a wait", GRAPH_TRACE: "a graph",
         DEVICE: "a device", CONTEXT: "a context", STREAM: "a stream", DRIVER: "a call", RUNTIME: "a call"}
SHAPES = {KERNEL: ("grid_x", "block_x"), MEMCPY: ("copy_kind", "bytes"), MEMSET: ("bytes",), SYNCHRONIZATION: ("type",)}
LEFT_OUT = (OVERHEAD, JIT)  # when code is loaded and compiled depends on the machine
RESULT_OF_CALL = 36


@dataclass
class Buffer:
    asked_on: str
    asked_in: str  # the call of CUPTI that this thread was in; "" for none
    asked_of: str
    line: int
    given: list = field(default_factory=list)  # "complete" events, with "while": the flushes that went on
    bytes: bytes = b""


@dataclass
class Record:
    kind: int
    fields: dict
    buffer: str
    session: int
    line: int

    @property
    def thread(self):
        return self.fields.get("thread")

    def times(self):
        """For records with times: whether the operation is over, not over, or has no known time."""
        start, end = self.fields.get("start"), self.fields.get("end")
        if start is None:
            return ""
        if not start:
            return ", without times" if not end else ", with an end and no start"
        return ", not over" if not end else ", over" if end >= start else ", over before it began"


def call_text(event):
    """A call of CUPTI, with its arguments on entry."""
    given = (f"{key} {value}" for key, value in event.items() if key not in ("line", "thread", "event", "call"))
    return f"{event['call']}({', '.join(given)})"


def strides(events):
    """{kind: bytes}, from the library's steps over its own records."""
    entered, found = {}, {}
    for event in events:
        if event.get("call") != NEXT_RECORD:
            continue
        if event["event"] == "enter":
            entered[event["thread"]] = event
        elif event["result"] == 0 and not entered[event["thread"]]["is_first"] and event["at"] > 0:
            found.setdefault(entered[event["thread"]]["kind"], event["at"])
    return found


def buffers(events):
    """{name: Buffer}"""
    open_calls, asked_of, found = collections.defaultdict(list), {}, {}
    for event in events:
        thread = event["thread"]
        if event["event"] == "enter":
            open_calls[thread].append(event)
        elif event["event"] == "leave":
            open_calls[thread].pop()
        elif event["event"] == "request":
            asked_of[thread] = event["of"]
        elif event["event"] == "requested" and event["buffer"]:
            inside = call_text(open_calls[thread][-1]) if open_calls[thread] else ""
            found[event["buffer"]] = Buffer(thread, inside, asked_of[thread], event["line"])
        elif event["event"] == "complete":
            flushing = sorted((on, call_text(calls[-1])) for on, calls in open_calls.items()
                              if calls and calls[-1]["call"] == "cuptiActivityFlushAll")
            buffer = found.setdefault(event["buffer"], Buffer("nobody", "", "nobody", event["line"]))
            buffer.given.append({**event, "while": flushing})
        elif event["event"] == "bytes":
            found[event["buffer"]].bytes += bytes.fromhex(event["hex"])
    return found


def _fields(kind, data):
    return {name: struct.unpack_from(form, data, at)[0] for name, at, form in FIELDS.get(kind, ())
            if at + struct.calcsize(form) <= len(data)}


def records(events):
    """The records of all buffers that were given back, in their order."""
    sizes, subscribed = strides(events), _subscribed(events)
    for name, buffer in buffers(events).items():
        line = buffer.given[0]["line"] if buffer.given else 0
        session = sum(one < line for one in subscribed)
        at = 0
        while at + 4 <= len(buffer.bytes):
            kind = struct.unpack_from("I", buffer.bytes, at)[0]
            size = sizes.get(kind)
            if not size or at + size > len(buffer.bytes):
                yield Record(0, {"unknown": kind}, name, session, line)
                break
            data = buffer.bytes[at:at + size]
            fields = _fields(kind, data)
            if kind in CALLS:
                fields["result"] = struct.unpack_from("I", data, RESULT_OF_CALL)[0]
            if kind not in LEFT_OUT:
                yield Record(kind, fields, name, session, line)
            at += size


def _subscribed(events):
    return [event["line"] for event in events if event["event"] == "leave" and event["result"] == 0 and
            event["call"].startswith("cuptiSubscribe") and event["thread"].startswith("control")]

"""What two runs of a scenario have in common if the libraries behave alike, as lists of steps under headings.

It leaves out what depends on time. For repeated questions of the shim it has the different questions and answers, not
their number. For buffers it has which threads request them where and which give them back meanwhile, not their number.
For records it has those of each thread, call by call. Numbers that a library chooses are replaced by their order of
appearance.
"""
import collections
from dataclasses import dataclass

from . import records as of
from .records import CALLS, NAMES, NEXT_RECORD, SHAPES

DOMAINS = {1: "the driver's", 2: "the runtime's", 6: "CUPTI's state"}
SITES = ("entry", "exit")
CONTEXT_AGAIN = "cuptiActivityEnableAndDump(kind 9) → 0"  # shows the shim whether buffers are still requested from it
AGAIN = ("cuptiActivityFlushAll(flag 0)", "cuptiActivityGetNumDroppedRecords(", "cuptiGetTimestamp(",
         "cuptiActivityEnableAndDump(kind 9)")


@dataclass(frozen=True)
class Step:
    text: str
    line: int  # of the transcript, for readers


class Names:
    """Numbers by order of appearance."""

    def __init__(self, what):
        self.what, self.known = what, {}

    def of(self, number):
        return f"{self.what} {self.known.setdefault(number, len(self.known) + 1)}"


def role(thread):
    return thread.split("#")[0]


def _answer(event):
    told = {key: value for key, value in event.items() if key not in ("line", "thread", "event", "call", "result", "time")}
    return f"{event['result']}" + "".join(f", {key} {value}" for key, value in told.items())


def _callback(event, calls):
    if event["domain"] not in CALLS.values():
        return f"is told of {DOMAINS.get(event['domain'], event['domain'])} {event['callback']}"
    result = f", result {event['result']}" if "result" in event else ""
    return (f"is told at the {SITES[event['site']]} of {DOMAINS[event['domain']]} {event['callback']} ({event['function']}), "
            f"{calls.of(event['correlation']) if event['correlation'] else 'no correlation'}{result}"
            f"{', with a symbol' if event['has_symbol'] else ''}")


def _steps(events):
    """The steps of one thread, in their order."""
    entered, calls, callbacks = [], Names("launch"), []
    for event in events:
        if event["event"] == "enter":
            entered.append(event)
        elif event["event"] == "leave":
            text = f"{of.call_text(entered.pop())} → {_answer(event)}"
            yield Step(text + (" in that callback" if callbacks else ""), event["line"])
        elif event["event"] == "callback":
            callbacks.append(event)
            yield Step(_callback(event, calls), event["line"])
        elif event["event"] == "called back":
            callbacks.pop()
        elif event["event"] == "mark" and not event["text"].startswith("driver "):
            yield Step(event["text"], event["line"])


def _again(run):
    texts = {step.text for step in run}
    return Step("asks, once or more: " + "; ".join(sorted(texts - {CONTEXT_AGAIN} or texts)), run[0].line)


def _shortened(steps, sizes):
    """With one step for each run of repeated questions, and one for all strides."""
    run, of_strides = [], False
    for step in steps:
        if step.text.startswith(NEXT_RECORD):
            if not of_strides:
                yield Step(f"steps over records: {sizes}", step.line)
            of_strides = True
            continue
        if step.text.startswith(AGAIN):
            run.append(step)
            continue
        if run:
            yield _again(run)
            run = []
        yield step
    if run:
        yield _again(run)


def _by_thread(events):
    found, sizes = collections.defaultdict(list), of.strides(events)
    for event in events:
        found[event["thread"]].append(event)
    for thread in sorted(found):
        steps = list(_shortened(_steps(found[thread]), sizes))
        if steps:
            yield f"what {thread} does and is told", steps


def _set(found):
    """Each text once, with the line of its first occurrence."""
    first = {}
    for text, line in found:
        first.setdefault(text, line)
    return [Step(text, first[text]) for text in sorted(first)]


def _of_buffers(events):
    unfinished = {record.buffer for record in of.records(events) if record.times() == ", not over"}
    asked, given = [], []
    for name, buffer in of.buffers(events).items():
        inside = f"in its {buffer.asked_in}" if buffer.asked_in else "outside of CUPTI's calls"
        asked.append((f"{role(buffer.asked_on)} is asked, {inside}; it is {buffer.asked_of}'s", buffer.line))
        what = f"what {role(buffer.asked_on)} was asked for" + (", with something that is not over," * (name in unfinished))
        for event in buffer.given:
            flushing = " and ".join(f"{role(on)} is in its {call}" for on, call in event["while"]) or "nobody flushes"
            empty = "" if event["valid"] else ", empty"
            given.append((f"{what} is given back on {role(event['thread'])} to {event['to']} while {flushing}{empty}, "
                          f"context {event['has_context']}, stream {event['stream']}", event["line"]))
        if len(buffer.given) != 1:
            given.append((f"{what} is {'never given back' if not buffer.given else 'given back more than once'}", buffer.line))
    yield "where buffers are asked for", _set(asked)
    yield "how buffers are given back", _set(given)


def _operation(record, names):
    shape = "".join(f", {key} {record.fields[key]}" for key in SHAPES.get(record.kind, ()))
    named = "".join(f", {one.of(record.fields[key])}" for key, one in names.items()
                    if key in record.fields and (key != "graph" or record.fields[key]))
    return f"{NAMES.get(record.kind, f'kind {record.kind}')}{shape}{named}{record.times()}"


def _call(record):
    return (f"{DOMAINS[CALLS[record.kind]]} {record.fields['cbid']}, result {record.fields['result']}{record.times()}")


def _of_records(events):
    """For every session and thread its calls, each with the operations that it started."""
    threads = {event["tid"]: event["thread"] for event in events if event["event"] == "thread"}
    names = {what: Names(what) for what in ("device", "context", "stream", "graph")}
    started, calls, without = collections.defaultdict(list), collections.defaultdict(list), []
    for record in of.records(events):
        correlation = record.fields.get("correlation")
        if record.kind in CALLS:
            calls[record.session, threads.get(record.thread, "a thread unknown")].append(record)
        elif correlation:
            started[record.session, correlation].append(record)
        else:
            without.append(record)
    for (session, thread), of_thread in sorted(calls.items()):
        yield f"records of {thread} in recording {session}", [
            Step("; ".join([_call(call), *(_operation(one, names) for one in
                                           started.pop((session, call.fields["correlation"]), ()))]), call.line)
            for call in of_thread]
    rest = [*without, *(record for records in started.values() for record in records)]
    yield "records of no call", _set((_operation(record, names), record.line) for record in rest)


def _of_order(events):
    """The order, within a buffer, of a call's record and the records of what it started."""
    at, found = collections.defaultdict(list), []
    for record in of.records(events):
        if record.fields.get("correlation"):
            at[record.buffer, record.fields["correlation"]].append(record)
    for together in at.values():
        first_call = next((place for place, record in enumerate(together) if record.kind in CALLS), None)
        for place, record in enumerate(together):
            if record.kind not in CALLS and first_call is not None:
                found.append((f"{NAMES.get(record.kind, record.kind)} lies {'behind' if place > first_call else 'before'} "
                              "its call", record.line))
    yield "the order of records in a buffer", _set(found)


ENABLING = {"cuptiActivityEnable": None, "cuptiActivityEnableAndDump": None, "cuptiActivityEnableRuntimeApi": of.RUNTIME,
            "cuptiActivityEnableDriverApi": of.DRIVER}


def _of_kinds(events):
    """Whether a kind's records came when it had been switched on."""
    on, entered = {}, {}
    for event in events:
        if event.get("call") in ENABLING and event.get("event") == "enter":
            entered[event["thread"]] = event
        elif event.get("call") in ENABLING and event["result"] == 0:
            begun = entered[event["thread"]]
            on.setdefault(begun.get("kind", ENABLING[event["call"]]), begun["line"])
    found = []
    for record in of.records(events):
        since = on.get(record.kind)
        when = "though nobody switched them on" if since is None else "once" if since < record.line else "before"
        found.append((f"records of {NAMES.get(record.kind, f'kind {record.kind}')} ({record.kind}) come {when}"
                      f"{' they are switched on' if since is not None else ''}", record.line))
    yield "which records come", _set(found)


def of_events(events):
    """{heading: [Step]}, in the order in which differences are looked for."""
    return {heading: steps for part in (_by_thread, _of_buffers, _of_kinds, _of_records, _of_order)
            for heading, steps in part(events)}

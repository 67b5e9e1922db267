"""Transcripts of a library that behaves differently, made from those of the real one: the comparer must find the
differences. Each function changes a list of events in place.
"""


def _pair(events, call, thread="control", **given):
    """Places of a call's lines: where it is entered and left."""
    for place, event in enumerate(events):
        if (event["event"], event.get("call")) == ("enter", call) and event["thread"].startswith(thread) and \
                all(event.get(key) == value for key, value in given.items()):
            return place, next(later for later in range(place + 1, len(events))
                               if (events[later]["event"], events[later].get("call"), events[later]["thread"]) ==
                               ("leave", call, event["thread"]))
    raise AssertionError(f"no {call} in the transcript")


def _numbered(events):
    for number, event in enumerate(events):
        event["line"] = number + 1
    return events


def _delivery(events):
    """The lines in which the first buffer requested on a thread of the job's is given back."""
    buffer = next(event["buffer"] for event in events if event["event"] == "requested" and
                  event["thread"].startswith("launcher"))
    return [event for event in events if event["event"] in ("complete", "bytes", "completed") and event["buffer"] == buffer]


def _without(events, lines):
    return [event for event in events if not any(event is line for line in lines)]


def other_order(events):
    """Thread IDs are set before the callback for fatal errors is switched on."""
    first, second = _pair(events, "cuptiEnableCallback"), _pair(events, "cuptiSetThreadIdType")
    between = events[first[0]:second[1] + 1]
    events[first[0]:second[1] + 1] = between[-2:] + between[:-2]
    return _numbered(events)


def second_subscriber(events):
    """A second tool may subscribe while the first one is there."""
    answer = events[_pair(events, "cuptiSubscribe_v2", thread="control")[1]]
    answer.update(result=0, subscriber="subscriber#2")
    return events


def delivered_elsewhere(events):
    """Buffers come back on the thread that flushes."""
    for event in events:
        if event["event"] in ("complete", "bytes", "completed"):
            event["thread"] = "control#1"
    return events


def asked_elsewhere(events):
    """Buffers of the job's threads are requested on the library's own."""
    for event in events:
        if event["event"] in ("request", "requested") and event["thread"].startswith("launcher"):
            event["thread"] = "worker#1"
    return events


def nothing_held_back(events):
    """The first flush after the kernel was launched gives its buffer back."""
    lines = _delivery(events)
    rest = _without(events, lines)
    launched = next(place for place, event in enumerate(rest) if event.get("text") == "is over hold")
    entered = launched + _pair(rest[launched:], "cuptiActivityFlushAll", flag=0)[0]
    return _numbered(rest[:entered + 1] + lines + rest[entered + 1:])


def before_enable(events):
    """Kernel records come before they are switched on."""
    entered, left = _pair(events, "cuptiActivityEnable", kind=10)
    lines = [events[entered], events[left]]
    rest = _without(events, lines)
    last = max(place for place, event in enumerate(rest) if event["event"] == "completed")
    after = last + 1 + _pair(rest[last + 1:], "cuptiActivityGetNumDroppedRecords")[1] + 1
    return _numbered(rest[:after] + lines + rest[after:])


def without_a_callback(events):
    """The exit of one launch is not reported."""
    place = next(place for place, event in enumerate(events) if event["event"] == "callback" and event.get("site") == 1)
    del events[place:place + 2]
    return _numbered(events)


def never_given_back(events):
    """A buffer stays with the library."""
    return _without(events, _delivery(events))


def given_back_twice(events):
    """A buffer comes back again."""
    lines = _delivery(events)
    last = next(place for place, event in enumerate(events) if event is lines[-1])
    again = [dict(event) for event in lines if event["event"] != "bytes"]
    return _numbered(events[:last + 1] + again + events[last + 1:])


def register_refused(events):
    """Callbacks are registered once for a process."""
    events[_pair(events, "cuptiActivityRegisterCallbacks", thread="control#2")[1]]["result"] = 7
    return events


# (scenario, alteration, words of the difference)
ALL = (
    ("attach", other_order, "step 3.*real library: cuptiEnableCallback.*double: cuptiSetThreadIdType"),
    ("conflict", second_subscriber, "real library: cuptiSubscribe_v2.*→ 39, other CUPTI for another tool.*double: .* → 0, "),
    ("run", delivered_elsewhere, "how buffers are given back.*given back on worker.*given back on control"),
    ("run", asked_elsewhere, "where buffers are asked for.*launcher is asked.*worker is asked"),
    ("detach", nothing_held_back, r"how buffers.*not over,.*FlushAll\(flag 1\).*not over,.*FlushAll\(flag 0\)"),
    ("run", before_enable, "cuptiActivityEnable.kind 10"),
    ("run", without_a_callback, "what launcher#1 does and is told.*is told at the exit.*is told at the entry"),
    ("run", never_given_back, "how buffers are given back.*never given back"),
    ("run", given_back_twice, "how buffers are given back.*given back more than once"),
    ("detach", register_refused, "what control#2 does.*RegisterCallbacks.* → 0.*RegisterCallbacks.* → 7"),
)

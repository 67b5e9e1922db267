"""The promises about exact tracing, each with a verdict from this machine's measurements."""
import math

from parts.goal import judged
from parts.statistics_of_ratios import median
from parts.trace_injection import percentile
from parts.traced import as_numbers

CPROFILE, OTHERS = 2, 3  # times less added time than the peers, on 3.12 and later
EVENT_NS, C_EVENT_NS, OLD_EVENT_NS = 20, 25, 12
TRAINING, EXCLUDED = 1.05, 1.02
IDLE = 0.01
EVENTS_PER_SECOND, BYTES_PER_EVENT = 5e6, 15
BUSY_MS, BLOCKED_MS, STOPPED_MS, ORPHANED_S = 5, 50, 1, 1
UNTOUCHED_MS, COMPLETE_S = 1, 2
MONITORING = (3, 12)


def _since(rows, first, last=(3, 99)):
    return [row for row in rows if first <= as_numbers(row.minor) <= last]


def _worst(what, bound, rows, value, is_met, show, pick=max):
    """One promise over many rows: the worst row decides, and is named."""
    found = [(value(row), row) for row in rows]
    found = [(number, row) for number, row in found if not math.isnan(number)]
    if not found:
        return judged(what, bound, None, False, "")
    number, row = pick(found, key=lambda pair: pair[0])
    where = f"CPython {row.python}" + (f", {row.work}" if hasattr(row, "work") else "")
    return judged(what, bound, number, is_met(number), f"{show(number)} ({where})")


def _nanoseconds(number):
    return f"{number:.1f} ns"


def _times(number):
    return f"{number:.2f}x"


def _events(found):
    python = [cost for cost in found.costs if cost.work in ("fib", "methods") and cost.has("untraced", "ours")]
    dense = [cost for cost in found.costs if cost.work == "c_calls" and cost.has("ours", "ours with C")]
    yield _worst("an event of a Python function, 3.12 and later, the worst", f"≤ {EVENT_NS} ns", _since(python, MONITORING),
                 lambda cost: cost.per_event("ours"), lambda ns: ns <= EVENT_NS, _nanoseconds)
    yield _worst("an event of a C function (--c-calls), 3.12 and later, the worst", f"≤ {C_EVENT_NS} ns",
                 _since(dense, MONITORING), lambda cost: cost.per_c_event, lambda ns: ns <= C_EVENT_NS, _nanoseconds)
    yield _worst("an event of a Python function, 3.8 and 3.9, the worst", f"≤ {OLD_EVENT_NS} ns",
                 _since(python, (3, 8), (3, 9)), lambda cost: cost.per_event("ours"), lambda ns: ns <= OLD_EVENT_NS,
                 _nanoseconds)
    for python in dict.fromkeys(cost.python for cost in found.costs):
        idle = sorted(cost.idle for cost in found.costs if cost.python == python and cost.is_paired("before", "idle"))
        yield judged(f"work beside a stub that is there and idle, median of all, {python}", f"1.00 ± {IDLE:g}x", median(idle),
                     abs(median(idle) - 1) <= IDLE, f"{median(idle):.3f}x ({idle[0]:.3f} to {idle[-1]:.3f}, {len(idle)} works)"
                     if idle else "")
    if any(cost.is_paired("excluded") for cost in found.costs):
        yield _worst("filtered code, 3.12 and later, the worst", f"≤ {EXCLUDED}x",
                     [cost for cost in _since(found.costs, MONITORING) if cost.is_paired("excluded")],
                     lambda cost: cost.excluded, lambda times: times <= EXCLUDED, _times)


def _training(found):
    rows = [cost for cost in _since(found.training, MONITORING) if cost.work == "train" and cost.has("ours")]
    yield _worst("the training step, 3.12 and later", f"≤ {TRAINING}x", rows, lambda cost: cost.slowdown("ours"),
                 lambda times: times <= TRAINING, _times)


def _peers(found):
    """Ours without C calls and with them, as the peers record C calls too."""
    rows = [cost for cost in _since(found.costs + found.training, MONITORING) if cost.work != "loop"]
    for peer, bound in (("cProfile", CPROFILE), ("viztracer", OTHERS), ("torch", OTHERS)):
        for ours, words in (("ours", ""), ("ours with C", ", with --c-calls")):
            able = [cost for cost in rows if cost.has(peer, ours) and (ours != "ours" or cost.work != "c_calls")]
            name = "torch.profiler(with_stack)" if peer == "torch" else peer
            yield _worst(f"time added by {name} / by us{words}, 3.12 and later, the worst", f"≥ {bound}x", able,
                         lambda cost, peer=peer, ours=ours: cost.ratio(peer, ours), lambda ratio, bound=bound: ratio >= bound,
                         lambda ratio: f"{ratio:.1f}x", min)


def _ways(found):
    busy = [entry for entry in found.entries if entry.mode == "busy"]
    blocked = [entry for entry in found.entries if entry.mode != "busy"]
    for what, rows, bound, kind in (("a busy target", busy, BUSY_MS, "loaded"),
                                    ("a busy target, stub resident", busy, BUSY_MS, "resident"),
                                    ("main blocked, a worker running", blocked, BLOCKED_MS, "loaded")):
        yield _worst(f"request to running, {what}, p50, the worst", f"≤ {bound} ms", rows,
                     lambda entry, kind=kind: percentile(getattr(entry, kind), 0.5) / 1000, lambda ms, bound=bound: ms <= bound,
                     lambda ms: f"{ms:.1f} ms")
    yield _worst("all threads stopped, p99, the worst", f"≤ {STOPPED_MS} ms", found.entries,
                 lambda entry: percentile(entry.stops, 0.99) / 1000, lambda ms: ms <= STOPPED_MS, lambda ms: f"{ms:.2f} ms")
    yield _worst("all threads stopped in a capture, p99, the worst", f"≤ {STOPPED_MS} ms", found.entries,
                 lambda entry: percentile(entry.captures, 0.99) / 1000, lambda ms: ms <= STOPPED_MS, lambda ms: f"{ms:.2f} ms")
    yield _worst("the collector killed: until nothing of ours is there, the slowest", f"≤ {ORPHANED_S} s", found.entries,
                 lambda entry: max(entry.orphaned, default=math.nan) / 1e6, lambda seconds: seconds <= ORPHANED_S,
                 lambda seconds: f"{seconds:.2f} s")


def _stream(found):
    yield _worst("last event to no hook left, the slowest", f"≤ {UNTOUCHED_MS} ms", found.leaving,
                 lambda one: max(one.microseconds, default=math.nan) / 1000, lambda ms: ms <= UNTOUCHED_MS,
                 lambda ms: f"{ms:.2f} ms")
    yield _worst("10 million events: last event to a complete trace", f"≤ {COMPLETE_S} s", found.whole,
                 lambda one: one.complete, lambda seconds: seconds <= COMPLETE_S, lambda seconds: f"{seconds:.2f} s")
    yield _worst("events drained, encoded and written per second of one core", "≥ 5 M", found.whole, lambda one: one.rate,
                 lambda rate: rate >= EVENTS_PER_SECOND, lambda rate: f"{rate / 1e6:.1f} M", min)
    yield _worst("bytes per event in the trace", f"≤ {BYTES_PER_EVENT}", found.whole, lambda one: one.each,
                 lambda each: each <= BYTES_PER_EVENT, lambda each: f"{each:.1f}")


def judge(found):
    return [goal for part in (_events, _training, _peers, _stream) for goal in part(found)]


def judge_ways(found):
    return list(_ways(found))

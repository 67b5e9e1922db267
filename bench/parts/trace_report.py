"""The section on exact tracing, as lines of text."""
import math

from parts.statistics_of_ratios import median
from parts.table import table
from parts.trace_injection import percentile

_WORDS = {"fib": "recursive function", "methods": "methods", "c_calls": "C functions", "loop": "loop without calls",
          "train": "training step"}


def _times(cost, kind):
    return f"{cost.slowdown(kind):.2f}x" if cost.has(kind, cost.base(kind)) else "-"


def _per_event(cost, kind):
    """ns per event and slowdown; the events are those that we record in that work without C calls."""
    if not cost.has(kind, cost.base(kind)):
        return "-"
    if cost.events < 100:  # work without calls: only the slowdown
        return _times(cost, kind)
    return f"{cost.per_event(kind):.1f} ({_times(cost, kind)})"


def _c_cell(cost):
    if cost.c_events < 100 or not cost.has("ours", "ours with C"):
        return "-"
    return f"{cost.per_c_event:.1f}"


def _paired(cost, kind, base):
    return f"{cost.ratio_of_pairs(kind, base):.3f}x" if cost.is_paired(kind, base) else "-"


def _costs(costs):
    kinds = ("ours", "ours with C", "cProfile", "viztracer", *(["torch"] if any(cost.has("torch") for cost in costs) else []))
    names = {"ours": "ours", "ours with C": "ours, --c-calls", "torch": "torch.profiler"}
    return table(["Python", "work", "ms", "events", "idle stub", "all excluded", *(names.get(kind, kind) for kind in kinds),
                  "a C event"],
                 [[cost.python, _WORDS[cost.work], f"{median(cost.times.get('untraced', [])) / 1e6:.2f}",
                   f"{cost.events:,} + {cost.c_events:,}", _paired(cost, "idle", "before"), _paired(cost, "excluded", "idle"),
                   *(_per_event(cost, kind) for kind in kinds), _c_cell(cost)]
                  for cost in costs])


def _ratios(costs):
    peers = ("cProfile", "viztracer", "torch")
    rows = []
    for cost in costs:
        if cost.work == "loop":
            continue
        cells = []
        for peer in peers:
            found = [cost.ratio(peer, ours) for ours in ("ours", "ours with C") if cost.has(peer, ours)]
            cells.append(" / ".join("-" if math.isinf(ratio) or abs(ratio) > 999 else f"{ratio:.1f}x" for ratio in found) or "-")
        rows.append([cost.python, _WORDS[cost.work], *cells])
    return table(["Python", "work", "cProfile / ours", "viztracer / ours", "torch.profiler / ours"], rows)


def _spread(values):
    if not values:
        return "-"
    return f"{percentile(values, 0.5) / 1000:.2f} / {percentile(values, 0.99) / 1000:.2f} ms of {len(values)}"


def _entries(entries):
    return table(["Python", "target", "loaded, p50 / p99", "resident, p50 / p99", "all stopped, p50 / p99",
                  "in a capture, p50 / p99", "gone after a kill, p50 / p99", "failed"],
                 [[one.python, one.mode, _spread(one.loaded), _spread(one.resident), _spread(one.stops), _spread(one.captures),
                   _spread(one.orphaned), one.failed]
                  for one in entries])


def _stream(found):
    lines = table(["Python", "events", "lost", "per second of a core: the collector", "with the command", "bytes each",
                   "complete after the last event"],
                  [[one.python, f"{one.events:,}", f"{one.lost:,}", f"{one.rate / 1e6:.1f} M",
                    f"{one.rate_of_all / 1e6:.1f} M", f"{one.each:.1f}", f"{one.complete:.2f} s"] for one in found.whole])
    lines += table(["from records in memory", "events per s", "bytes each"],
                   [[name, f"{rate / 1e6:.1f} M", f"{each:.1f}" if each else "-"] for name, (rate, each) in found.replay.items()])
    return lines + table(["Python", "last event to no hook left, median (least to most)", "of"],
                         [[one.python, f"{median(one.microseconds):.0f} ({min(one.microseconds):.0f} to "
                           f"{max(one.microseconds):.0f}) us", len(one.microseconds)]
                          for one in found.leaving if one.microseconds])


def _notes(found):
    return [f"- {note}" for note in dict.fromkeys(found.notes)] + [""]


def lines(found):
    versions = "; ".join(f"{peer} {', '.join(sorted(each))}" for peer, each in sorted(found.versions.items()))
    text = ["Calls are traced from outside, with the collector on the other core; cProfile and viztracer run in a process of "
            "their own on the target's core. ns are added thread CPU time per event of a Python function (a call and its "
            "return are two events, also if a tool counts more). The factor in brackets is how many times as long the work "
            "takes. On 3.10 and 3.11 the loop shows the cost of a profile function for every bytecode.", ""]
    text += [f"Peers: {versions}.", ""] if versions else []
    text += ["### Cost of an event, ns", "", *_costs(found.costs)]
    text += ["### A training step", "", "The target is `train_step` of tests/demo/train_transformer.py on one "
             "batch, and the recursive function beside torch.profiler(with_stack=True).", "", *_costs(found.training)] if found.training else []
    text += ["### Added time of a peer / ours, without and with --c-calls", "", *_ratios(found.costs + found.training)]
    text += ["### What becomes of the events", "", *_stream(found)]
    return text + _notes(found)


def lines_of_ways(found):
    return ['"Request to running" is `loaded` in a process that had no stub, and `resident` in one that had it. '
            '"In a capture" is the longest of its stops, of which the last one copies all stacks. "Gone" is the time '
            "from the kill of the collector until the target has released all that it shared.", "", *_entries(found.entries), *_notes(found)]

"""The section of each part of the page, with its tables, as lines of text."""
from parts import torch_cost, trace_report
from parts.compare import asked, ratios
from parts.scenario import SCENARIOS
from parts.statistics_of_ratios import interval, median
from parts.table import table as _table
from parts.trace_injection import percentile


def _spread(values, scale):
    if not values:
        return "-"
    return f"{median(values) * scale:.2f} ({min(values) * scale:.2f} to {max(values) * scale:.2f})"


def _comparison(rows):
    found = ratios(rows, lambda row: row.per_sample)
    rates = ratios(rows, lambda row: [run.samples / run.sampling for run in row.runs])
    body = []
    for row in rows:
        if row.refused and not row.runs:
            body.append([row.scenario, row.minor, row.tool, row.refused.replace("\n", " ")[:90]] + [""] * 7)
            continue
        key = (row.scenario, row.minor, row.tool)
        body.append([row.scenario, row.minor, row.tool, _spread(row.per_sample, 1e6),
                     f"**{found[key]:.1f}x**" if key in found else "1",
                     f"{1000 * row.start_up:.0f}", f"{row.rate:,.0f}", f"{1 / rates[key]:.1f}x" if key in rates else "1",
                     f"{row.samples:,}", f"{100 * row.torn:.3f} %", row.said])
    return _table(["target", "Python", "tool", "CPU us per sample", "peer / ours", "start-up, CPU ms", "samples per s",
                   "ours / peer", "samples", "torn", "the tool says"], body)


def _slowdowns(results):
    body = []
    for one in results.slowdowns:
        cells = []
        for values in (one.cpu, one.wall):
            low, high = interval(values)
            cells.append(f"{100 * median(values):+.2f} % [{100 * low:+.2f}, {100 * high:+.2f}]" if values else "-")
        body.append([one.scenario, one.minor, one.tool, f"{one.rate:,}", *cells, len(one.cpu)])
    return _table(["target", "Python", "tool", "Hz", "CPU per unit of work", "wall time per unit", "pairs"], body)


def _microseconds(values, share):
    return f"{1e6 * percentile(values, share):.0f}" if values else "-"


def _pauses(results):
    body = []
    for one in results.pauses:
        if one.refused and not one.samples:
            body.append([one.scenario, one.minor, one.tool, f"{one.rate:,}", one.refused.replace("\n", " ")[:90]] + [""] * 6)
            continue
        cpu = [f"{one.samples:,}", _spread(one.per_sample, 1e6)]
        own = one.own
        seen = [f"{len(own) / one.seconds:.0f}", *(_microseconds(own, share) for share in (0.5, 0.9, 1)), f"{100 * one.share:.2f} %"]
        body.append([one.scenario, one.minor, one.tool, f"{one.rate:,}", *cpu, *(seen if one.without == one.without else ["-"] * 5)])
    return ["The target's own clock measures pauses: gaps of more than 8 us between two readings of it. As many gaps as there "
            "were without a tool are subtracted, the shortest ones. CPU is of the command and its children, with start and "
            "output.", "", *_table(
                ["target", "Python", "tool", "Hz", "samples", "CPU us per sample", "pauses per s", "p50, us", "p90, us", "longest, us",
                 "of the time"], body)]


def _reads(results):
    return _table(["target", "Python", "bare read of 1 KiB, us", "round, us", "threads", "reads per round",
                   "thread-sample / bare read"],
                  [[one.scenario, one.minor, f"{one.bare_us:.2f}", f"{one.round_us:.2f}", f"{one.threads:.1f}",
                    f"{one.reads:.2f}", f"**{one.ratio:.2f}x**"] for one in results.read_costs])


def _calls(results):
    return ["By strace -f -c; the sleep between rounds is not counted in the total.", "", *_table(
        ["target", "Python", "reads", "all", "which"],
        [[one.scenario, one.minor, f"{one.reads:.3f}", f"{one.every:.3f}",
          ", ".join(f"{name} {count:.3f}" for name, count in sorted(one.by_name.items(), key=lambda item: -item[1]))]
         for one in results.calls])]


def _memory(results):
    return _table(["target", "rate", "seconds", "samples", "steady, MiB", "growth, KiB"],
                  [[one.scenario, asked(one.rate), f"{one.series[-1][0] if one.series else 0:.0f}", f"{one.samples:,}",
                    f"{one.steady_kib / 1024:.1f}", one.growth_kib] for one in results.memory])


def _size(results):
    return _table(["target", "samples", "bytes", "bytes per sample"],
                  [[one.what, f"{one.samples:,}", f"{one.size:,}", f"{one.each:.2f}"] for one in results.sizes])


def _training(results):
    return _table(["seconds", "samples", "truncated, %", "torn, %"],
                  [[f"{one.seconds:g}", f"{one.samples:,}", f"{one.truncated:.2f}", f"{one.torn:.2f}"] for one in results.training])


def _torch(results):
    rows = []
    for one in results.torch:
        for kind in [kind for kind in torch_cost.KINDS if kind in one.ours]:
            theirs = kind in one.theirs
            rows.append([one.torch, one.job, kind, f"{one.slowdown(one.ours, kind):.2f}x", f"{one.slowdown(one.theirs, kind):.2f}x" if theirs else "ends the job",
                         f"{one.added(one.ours, kind):.0f}", f"{one.added(one.theirs, kind):.0f}" if theirs else "-",
                         f"{one.ratio(kind):.1f}x" if theirs else "-"])
    sizes = {(one.torch, one.job): f"{one.job} {one.operators} operators in {median(one.ours['']) / 1e3:.0f} us" for one in results.torch}
    return ["Thread CPU time of a training step on one core, recorded from outside by us, and in another process by "
            "torch.profiler; ns are for each operator. What torch.profiler does when it ends is not in it.", "",
            *_table(["PyTorch", "job", "what is recorded", "step, ours", "step, torch.profiler", "ns, ours", "ns, torch.profiler",
                     "torch.profiler / ours"], rows),
            "", f"A step: {'; '.join(sizes.values())}."]


def _shares(values):
    """Quantiles of many short calls: the median and the higher ones."""
    ordered = sorted(values)
    return ", ".join(f"{name} {ordered[min(len(ordered) - 1, int(len(ordered) * share))]:.0f}"
                     for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))) if values else "-"


def _service(results):
    body = []
    for one in results.service:
        for what, values in (("a unary call to gRPC itself: a service that does nothing, in a process of its own", one.empty_us),
                             ("ListCaptures, where there are none", one.list_us), ("GetDaemonStatus", one.status_us)):
            body.append([what, f"{_shares(values)} us" if values else "failed", len(values)])
        size = f"ReadTrace of {one.read_bytes >> 20} MiB"
        for what, values, unit in (("first sample at the client after Record", one.first_sample_ms, "ms"),
                                   ("DumpStacks of 64 threads", one.dump_ms, "ms"),
                                   (f"{size} over a Unix socket, chunks of 1 MiB", one.read_gb_per_s, "GB/s"),
                                   ("the same, chunks of 128 KiB", one.read_small_chunks_gb_per_s, "GB/s"),
                                   (f"{size} over TLS, chunks of 1 MiB", one.read_tls_gb_per_s, "GB/s"),
                                   ("the same, chunks of 128 KiB", one.read_tls_small_chunks_gb_per_s, "GB/s")):
            body.append([what, f"{_spread(values, 1)} {unit}" if values else "failed", len(values)])
        crowd = one.crowd
        body.append([f"samples of each of {crowd.asked} captures of 10 processes at once, 2 s at 50 Hz",
                     f"{crowd.fewest:,} to {crowd.most:,}", crowd.ended_well])
        body.append(["the same: counted; in the traces; not taken, and counted as such; what the rate asks for",
                     f"{crowd.counted:,}; {crowd.in_traces:,}; {crowd.not_taken:,}; {crowd.expected:,}", ""])
    return ["Calls go over the Unix socket of a warm ptrace-profd. The trace that is read is in a spool in the process of its "
            "reader, behind a Unix socket, or behind TLS 1.3 on 127.0.0.1 with certificates of both ends (P-256). No target "
            "runs while unary calls and traces are measured.", "", *_table(["", "median (least to most)", "of"], body)]


def _compare(results):
    lines = _table(["target", "what", "command"],
                   [[one.name, one.what, f"`{one.script} {' '.join(one.arguments)}`"] for one in SCENARIOS.values()])
    lines += ["```", "taskset -c 0 python3 bench/targets/calls.py DEPTH BUSY WAITING", *sorted(results.commands), "```", ""]
    lines += ["### As fast as each tool can", "", *_comparison(results.fastest)]
    return lines + ["### At the same rate", "", f"Asked for: {results.paced_rate:,} Hz of each thread.", "",
                    *_comparison(results.paced)]


def _more(results):
    return ["As fast as each tool can:", "", *_comparison(results.fastest),
            f"At the same rate ({results.paced_rate:,} Hz of each thread):", "", *_comparison(results.paced)]


def _trace(results):
    return trace_report.lines(results.tracing) if results.tracing else []


def _injection(results):
    return trace_report.lines_of_ways(results.ways) if results.ways else []


def _gpu(results):
    return ["The records are as CUPTI 13.0 writes them: one call and one kernel for each launch of an eager job, in the cache "
            "as they are after a buffer was taken. This is the collector's side, and needs no GPU; the cost of CUPTI for the "
            "job was never measured.", "", *_table(
                ["what", "million records per second of one core", "repeats", "bytes of trace per record"],
                [row for one in results.gpu for row in (
                    ["decoded", _spread(one.decoded, 1e-6), len(one.decoded), "-"],
                    ["decoded, joined to their launches and encoded", _spread(one.whole, 1e-6), len(one.whole),
                     f"{one.each:.1f}"])])]


def _doubles(results):
    def row(what, values, scale, unit):
        return [what, *(f"{scale * percentile(values, share):.2f} {unit}" for share in (0, 0.5, 0.99)), f"{len(values):,}"]

    return ["This was measured on doubles of CUDA's libraries: the job, the way in, the shim and the collector are real; "
            "CUPTI, the driver and the GPU are not, and take next to no time. None of this was measured on a GPU, where it is "
            "longer. Each attach is to a fresh job, which replays graphs that existed before. It begins with the start of the "
            "command, and CUPTI is flushed four times a second. The times of buffers are the shim's on threads of the job, "
            "with two readings of the clock in each.",
            "", *_table(["what", "least", "p50", "p99", "of"], [line for one in results.doubles for line in (
                row("until the first kernel is in the stream", one.first_kernel_ms, 1, "ms"),
                row("a buffer of 1 MiB handed out", one.hand_out_ns, 0.001, "us"),
                row("a buffer of 1 MiB taken back", one.take_back_ns, 0.001, "us"))]),
            *(line for one in results.doubles if one.without
              for line in (f"Attaches after which no kernel came: {one.without}.", ""))]


# In the order of the page: part, title, function that returns the lines.
SECTIONS = (
    ("compare", "Sampling, beside its peers", _compare),
    ("more", "The same on more targets", _more),
    ("slowdown", "Slowdown of the target", _slowdowns),
    ("pauses", "Pauses of the target", _pauses),
    ("training", "Samples of a training job", _training),
    ("torch", "Operators of PyTorch", _torch),
    ("trace", "Exact tracing", _trace),
    ("injection", "The tracer's way into a process", _injection),
    ("gpu", "GPU records", _gpu),
    ("doubles", "GPU, on doubles of CUDA", _doubles),
    ("service", "The service", _service),
    ("reads", "Cost of a sample in bare reads", _reads),
    ("calls", "System calls per thread-sample", _calls),
    ("memory", "Memory of the collector", _memory),
    ("size", "Size of the trace", _size),
)


def lines(part, results):
    return next(write for name, _, write in SECTIONS if name == part)(results)

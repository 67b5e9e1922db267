"""The promises about cost, each with a verdict from this machine's measurements: met, missed, or no claim."""
from dataclasses import replace

from parts import trace_goals
from parts.compare import COMMON, TACHYON, ratios
from parts.goal import Goal
from parts.goal import judged as _judge
from parts.statistics_of_ratios import median
from parts.tools import FASTEST, PtraceProf
from parts.trace_injection import percentile

# (peer, interpreter, promised ratio of the peer's CPU per thread-sample to ours)
CPU_GOALS = (("Tachyon", TACHYON, 3), ("austin", COMMON, 5), ("py-spy --nonblocking", COMMON, 30))
CPU_SCENARIOS = ("d10", "d60", "t64")
RATE_GOAL = 3
FEWEST_SAMPLES = 100_000  # our and the peer's samples that a claim about CPU needs to be accurate to some percent
SLOWDOWN_BOUNDS = {100: 0.006, 1000: 0.03}  # by rate: each sample is a stop
PAUSE_BOUNDS_US = {100: ((0.5, 50), (0.9, 80)), 1000: ((0.5, 30),)}  # by rate
MEMORY_BOUND_KIB = 64 * 1024
GPU_RECORDS = 2e6
FIRST_KERNEL_MS = (300, 2000)  # p50, p99
HAND_OFF_US = 1  # for one MiB
GROWTH_BOUND_KIB = 1024  # less growth counts as constant


def _cpu(results):
    for label, rows in (("at its fastest", results.fastest), ("at the same rate", results.paced)):
        found = ratios(rows, lambda row: row.per_sample)
        samples = {(row.scenario, row.minor, row.tool): row.samples for row in rows}
        for peer, minor, bound in CPU_GOALS:
            for scenario in CPU_SCENARIOS:
                value = found.get((scenario, minor, peer))
                fewest = min(samples.get((scenario, minor, tool), 0) for tool in (PtraceProf.name, peer))
                few = "" if fewest >= FEWEST_SAMPLES else f" (fewer than {FEWEST_SAMPLES:,} samples)"
                goal = _judge(f"CPU per sample, {scenario}, {peer} / ours, {label}", f"≥ {bound}x", value,
                              value is not None and value >= bound, f"{value or 0:.1f}x{few}")
                yield replace(goal, verdict="no claim") if few and goal.verdict == "met" else goal


def _rate(results):
    """Counts only samples that the tools do not call errors themselves."""
    for scenario in CPU_SCENARIOS:
        here = [row for row in results.fastest if row.scenario == scenario and row.runs]
        pairs = []
        for minor in {row.minor for row in here}:
            ours = [row.good_rate for row in here if row.minor == minor and row.tool == PtraceProf.name]
            best = max(((row.good_rate, row.tool) for row in here
                        if row.minor == minor and row.tool != PtraceProf.name), default=None)
            if ours and best and best[0] > 0:
                pairs.append((ours[0] / best[0], best[1]))
        worst = min(pairs, default=None)
        yield _judge(f"highest honest rate, {scenario}, ours / best peer", f"≥ {RATE_GOAL}x", worst,
                     worst is not None and worst[0] >= RATE_GOAL, f"{worst[0]:.1f}x ({worst[1]})" if worst else "")


def _reads(results):
    for cost in results.read_costs:
        if cost.scenario == "d10":
            yield _judge("one sample, depth 10, in bare reads of 1 KiB", "≤ 3x", cost.ratio, cost.ratio <= 3,
                         f"{cost.ratio:.2f}x ({cost.round_us:.2f} / {cost.bare_us:.2f} us)")


def _depth(results):
    """In both scenarios the same few frames change at the leaf, so the same number of bytes changes."""
    rounds = {cost.scenario: cost.round_us for cost in results.read_costs}
    if {"d10", "d200"} <= set(rounds):
        ratio = rounds["d200"] / rounds["d10"]
        yield _judge("one sample, depth 200 / depth 10, where the same bytes change", "≤ 1x", ratio, ratio <= 1,
                     f"{ratio:.2f}x ({rounds['d200']:.2f} / {rounds['d10']:.2f} us)")


def _training(results):
    for one in results.training:
        yield _judge("samples of a training job that are not whole", "≤ 1 %", one.samples or None, one.not_whole <= 1,
                     f"{one.not_whole:.2f} % ({one.truncated:.2f} + {one.torn:.2f}) of {one.samples:,}")


def _torch(results):
    for one in results.torch:
        where = f"{one.job}, PyTorch {one.torch}"
        with_all = "with Python calls, shapes"
        if with_all in one.ours:
            slowdown = one.slowdown(one.ours, with_all)
            yield _judge(f"a step with calls, operators and shapes / without, {where}", "≤ 1.15x", slowdown, slowdown <= 1.15,
                         f"{slowdown:.2f}x (torch.profiler {one.slowdown(one.theirs, with_all):.2f}x)" if with_all in one.theirs
                         else f"{slowdown:.2f}x (torch.profiler ends the job)")
        ratios_here = {kind: one.ratio(kind) for kind in one.ours if kind in one.theirs and kind}
        if ratios_here:
            kind, worst = min(ratios_here.items(), key=lambda item: item[1])
            yield _judge(f"time added by torch.profiler / by us, the worst of all kinds, {where}", "≥ 1x", worst, worst >= 1,
                         f"{worst:.1f}x ({kind})")


def _calls(results):
    for calls in results.calls:
        if calls.scenario == "steady":
            yield _judge("system calls per thread-sample on a stack that stands still", "≤ 2", calls.every,
                         calls.every <= 2, f"{calls.every:.2f}, of them {calls.reads:.2f} reads")


def _torn(results):
    ours = [row for row in results.paced + results.fastest if row.tool == PtraceProf.name and row.runs]
    samples, torn = sum(row.samples for row in ours), sum(run.torn for row in ours for run in row.runs)
    on = ", ".join(sorted({row.scenario for row in ours})) or "these targets"
    yield _judge(f"impossible stacks in all samples of {on}", "0", samples or None, torn == 0, f"{torn} of {samples:,}")


def _memory(results):
    for memory in results.memory:
        yield _judge(f"memory of the collector, {memory.scenario} at {memory.rate:,} Hz" if memory.rate != FASTEST else
                     f"memory of the collector, {memory.scenario} at its fastest", "≤ 64 MiB", memory.steady_kib or None,
                     memory.steady_kib <= MEMORY_BOUND_KIB, f"{memory.steady_kib / 1024:.1f} MiB")
        yield _judge("its growth from the middle third of the run to the last", "≤ 1 MiB",
                     memory.growth_kib if memory.series else None,
                     memory.growth_kib <= GROWTH_BOUND_KIB, f"{memory.growth_kib} KiB")


def _size(results):
    for size in results.sizes:
        if size.what == "mixed":
            yield _judge("bytes per sample before compression, an ordinary program", "≤ 4", size.each, size.each <= 4,
                         f"{size.each:.2f} ({size.samples:,} samples)")


def _slowdown(results):
    for slowdown in results.slowdowns:
        if slowdown.tool == PtraceProf.name:
            bound = SLOWDOWN_BOUNDS[slowdown.rate]
            for what, values in (("CPU", slowdown.cpu), ("wall time", slowdown.wall)):
                verdict, text = slowdown.claim(values, bound)
                yield Goal(f"target's {what} per unit of work at {slowdown.rate:,} Hz, {slowdown.scenario}, {slowdown.minor}",
                           f"≤ +{100 * bound:g} %", text, verdict)


def _pauses(results):
    for one in results.pauses:
        if one.tool == PtraceProf.name and one.gaps:
            for share, bound in PAUSE_BOUNDS_US[one.rate]:
                value = 1e6 * percentile(one.own, share)
                yield _judge(f"a pause by the target's own clock, depth 10, at {one.rate:,} Hz, {one.minor}, p{100 * share:.0f}",
                             f"≤ {bound} us", value, value <= bound, f"{value:.0f} us")


def _service(results):
    for one in results.service:
        first, dump, crowd = one.first_sample_ms, one.dump_ms, one.crowd
        for what, times in (("ListCaptures", one.list_us), ("GetDaemonStatus", one.status_us)):
            yield _judge(f"{what} of an idle daemon, p50", "≤ 200 us", times or None, bool(times) and median(times) <= 200,
                         f"{median(times):.0f} us of {len(times):,}; gRPC itself {median(one.empty_us):.0f} us"
                         if times and one.empty_us else "")
        yield _judge("first sample at the client after Record, median", "≤ 100 ms", first or None,
                     bool(first) and median(first) <= 100, f"{median(first):.0f} ms of {len(first)}" if first else "")
        yield _judge("DumpStacks of 64 threads, the slowest", "≤ 50 ms", dump or None, bool(dump) and max(dump) <= 50,
                     f"{max(dump):.0f} ms of {len(dump)}, median {median(dump):.0f} ms" if dump else "")
        for way, reads, bound in (("a Unix socket", one.read_gb_per_s, 1), ("TLS", one.read_tls_gb_per_s, 0.3)):
            yield _judge(f"ReadTrace of {one.read_bytes >> 20} MiB over {way}, median", f"≥ {bound} GB/s", reads or None,
                         bool(reads) and median(reads) >= bound, f"{median(reads):.2f} GB/s of {len(reads)}" if reads else "")
        yield _judge(f"samples that {crowd.asked} captures at once lose in silence", "0", crowd.expected or None, crowd.is_whole,
                     f"{crowd.counted - crowd.in_traces} of {crowd.counted:,}; {crowd.not_taken:,} not taken, and counted; "
                     f"{crowd.ended_well} ended well")


def _trace(results):
    return trace_goals.judge(results.tracing) if results.tracing else []


def _injection(results):
    return trace_goals.judge_ways(results.ways) if results.ways else []


def _gpu(results):
    for one in results.gpu:
        yield _judge("GPU records decoded, joined to their launches and encoded per second of one core, median",
                     f"≥ {GPU_RECORDS / 1e6:g} M", one.rate, one.rate >= GPU_RECORDS, f"{one.rate / 1e6:.1f} M")


def _on_a_double(what, bound, measured, met, text):
    """Met on a double is no claim, as a real GPU takes longer; missed on a double is missed on a GPU too."""
    goal = _judge(what, f"{bound} on a GPU", measured, met, f"{text} on a double of CUDA")
    return replace(goal, verdict="no claim") if goal.verdict == "met" else goal


def _doubles(results):
    for one in results.doubles:
        count, (p50, p99) = len(one.first_kernel_ms), FIRST_KERNEL_MS
        what = "from the command until the first kernel is in the stream, of a job that replays graphs"
        for name, value, bound in (("p50", one.p50, p50), ("p99", one.p99, p99)):
            yield _on_a_double(f"{what}, {name}", f"≤ {bound} ms", value, value <= bound, f"{value:.0f} ms of {count}")
        yield _on_a_double("a buffer of 1 MiB handed out and taken back, in the target, median", f"≤ {HAND_OFF_US} us", one.pair_us,
                           one.pair_us <= HAND_OFF_US, f"{one.pair_us:.2f} us of {len(one.take_back_ns):,}")


_OF_PART = {"compare": (_cpu, _rate, _torn), "more": (_torn,), "reads": (_reads, _depth), "calls": (_calls,), "memory": (_memory,),
            "size": (_size,), "slowdown": (_slowdown,), "pauses": (_pauses,), "service": (_service,), "training": (_training,), "torch": (_torch,),
            "trace": (_trace,),
            "injection": (_injection,), "gpu": (_gpu,), "doubles": (_doubles,)}


def judge(part, results):
    return [goal for judges in _OF_PART[part] for goal in judges(results)]

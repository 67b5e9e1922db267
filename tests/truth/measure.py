"""Measures one cell: the program runs, and ptrace-prof and the reference sample it in alternating slots."""
import collections
import contextlib
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import cells
import reference_sampler
from compare import Difference, Seen, against, chance, chi_square, total, with_truth
from support import interpreters, profiler, soak
from support.stacks import Frame
from support.target_process import TargetProcess

BUSY = "while True: pass"


class Skipped(Exception):
    """Why a cell cannot be measured here."""


def interpreter_of(cell):
    found = interpreters.of_minor(cell.minor)
    if cell.program.needs_torch:
        found = [one for one in found if one.kind != "pyenv"]
    if not found:
        raise Skipped(f"CPython {cell.minor} is not here")
    return found[0]


def _arguments(program, places):
    scripts, benchmarks, _, demo = places
    if program.is_benchmark:
        return scripts, (f"{benchmarks}/{program.arguments[0]}", *program.arguments[1:])
    return scripts, ((demo,) if program.needs_torch else program.arguments)


@contextlib.contextmanager
def busy_loops(cpus):
    """Runs one busy loop on each CPU."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY], preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, {cpu}))
             for cpu in cpus]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def put_first(pid):
    """Makes the kernel prefer this session (TargetProcess starts one) to all others, where we may. Each ms off its CPU
    is a sample of one place only, so shares on a busy machine would be ten times less exact."""
    with contextlib.suppress(OSError):
        pathlib.Path(f"/proc/{pid}/autogroup").write_text("-20")
        os.setpriority(os.PRIO_PROCESS, pid, -20)


@contextlib.contextmanager
def running(cell, target_cpu):
    """(TargetProcess, pids) of a cell's program."""
    program, interpreter = cell.program, interpreter_of(cell)
    if program.is_benchmark and not cells.is_set_up():
        raise Skipped("pyperformance is not here (./dev setup test)")
    folders, *places = cells.folders_of(interpreter)
    scripts, arguments = _arguments(program, places)
    try:
        target = TargetProcess(program.script, interpreter, arguments, name=f"{scripts}/{program.script}", folders=folders,
                               env={"PP_TARGETS": places[2]},
                               prefix=() if target_cpu is None or interpreter.in_root else ("taskset", "-c", str(target_cpu)))
    except AssertionError as error:
        raise Skipped(f"it does not run on {interpreter}: {str(error).strip().splitlines()[-1]}") from error
    with target:
        pids = [target.pid] + [int(target.expect("child").text.split()[1]) for _ in range(program.processes - 1)]
        if target_cpu is not None:
            for pid in pids:
                for tid in os.listdir(f"/proc/{pid}/task"):
                    os.sched_setaffinity(int(tid), {target_cpu})
        if not program.busy_machine:
            for pid in pids:
                put_first(pid)
        yield target, pids


def _function(frame):
    """ptrace-prof reports files of the standard library without their folder, the reference as the code object has
    them."""
    return Frame(frame.name, pathlib.PurePath(frame.file).name, frame.line)


def functions_only(stacks):
    """Without the roots that name process and thread, which look like functions: "Thread-1 (worker) (tid 17)"."""
    kept = collections.Counter()
    for stack, times in stacks.items():
        kept[tuple(frame for frame in stack if not re.search(r"\b[pt]id \d+\Z", frame.file))] += times
    return kept


class Meter:
    """The two samplers of one running program. Each slot gives a Seen, and what the program counted meanwhile."""

    def __init__(self, cell, target, pids, cpu, seconds, options):
        self.cell, self.target, self.pids, self.cpu, self.seconds, self.options = cell, target, pids, cpu, seconds, options
        self.seeds = itertools.count(1)
        self.accounts, self.pauses, self.said = [], [], []

    def reference(self, key=_function):
        runs = [reference_sampler.Running(pid, self.target.interpreter, min(self.seconds, 2.0), 1000, next(self.seeds),
                                          self.cpu) for pid in self.pids]
        results = [run.result() for run in runs]
        self.accounts += [result.account for result in results]
        self.pauses += [result.pauses for result in results]
        return Seen.of(sum((result.stacks for result in results), type(results[0].stacks)()), key)

    def product(self):
        recording = profiler.Recording(self.pids[0], "-d", f"{self.seconds:g}s", "-r", self.cell.rate, "--idle", "all",
                                       "--max-overhead", "off", *self.options, preexec=profiler.pinned_to(self.cpu))
        try:
            finished = recording.wait()
            if finished.status != 0:
                raise AssertionError(str(finished))
            self.said.append(finished.errors)
            text = profiler.must("export", recording.trace, "--format", "collapsed", "--no-lines", "-o", "-").output
            return Seen.of(functions_only(profiler.collapsed(text)), _function)
        finally:
            recording.remove()

    def timed(self, look):
        """(what was seen, what the program counted between the two readings of its clock)"""
        if not self.cell.program.counts_itself:
            return look(), ({}, {})
        before = cells.clock(self.target)
        seen = look()
        after = cells.clock(self.target)
        return seen, (cells.truth_of(before, after), cells.ratios_of(before, after))


def _ratio_differences(slots, truths):
    """For programs that know only how their work is divided: shares among these functions."""
    if not truths or not truths[0]:
        return []
    narrowed = []
    for slot in slots:
        seen = Seen()
        for function, times in slot.inclusive.items():
            if function.name in truths[0]:
                seen.inclusive[function] += times
        seen.samples = sum(seen.inclusive.values())
        narrowed.append(seen)
    return with_truth(narrowed, [{("inclusive", name): value for name, value in truth.items()} for truth in truths])


def _told(difference: Difference):
    return {"text": str(difference), "value": difference.value, "error": difference.error, "kind": difference.kind}


def _judge(cell, ours, theirs, truths):
    """The row of the table, as plain data."""
    found = against([seen for seen, _ in ours], [seen for seen, _ in theirs])
    value, freedom, over = chi_square([seen for seen, _ in ours], [seen for seen, _ in theirs])
    whole_ours, whole_theirs = total(seen for seen, _ in ours), total(seen for seen, _ in theirs)
    row = {"cell": cell.name, "samples": whole_ours.samples, "reference": whole_theirs.samples,
           "cut": whole_ours.cut / max(1, whole_ours.samples), "chi": [value, freedom, over, chance(value, freedom)],
           "worst": [_told(each) for each in found[:5]], "fails": [_told(each) for each in found if not each.holds()]}
    for name, slots in (("own clock, ptrace-prof", ours), ("own clock, reference", theirs)):
        # Shares inside a phase were estimated by other code, so three points are allowed there.
        clock = with_truth([seen for seen, _ in slots], [truth[0] for _, truth in slots]) if truths else []
        clock += _ratio_differences([seen for seen, _ in slots], [truth[1] for _, truth in slots])
        row[name] = {"worst": [_told(each) for each in clock[:3]],
                     "fails": [_told(each) for each in clock if not each.holds(0.03 if each.kind == "own" else 0.01)]}
    return row


def measure(cell, rounds, seconds=None, options=()):
    """A row of the table; raises Skipped."""
    target_cpu, cpu = soak.two_cpus()
    seconds = seconds or cell.program.seconds * (1.5 if cell.rate < 1000 else 1)
    ours, theirs = [], []
    began = time.monotonic()
    try:
        with contextlib.ExitStack() as stack:
            if cell.program.busy_machine:
                stack.enter_context(busy_loops([target_cpu, cpu]))
            target, pids = stack.enter_context(running(cell, target_cpu))
            meter = Meter(cell, target, pids, cpu, seconds, options)
            for number in range(rounds):
                order = ((meter.product, ours), (meter.reference, theirs))
                for look, into in order if number % 2 == 0 else order[::-1]:
                    into.append(meter.timed(look))
            with contextlib.suppress(ProcessLookupError):
                target.signal(signal.SIGKILL)
    except reference_sampler.Absent as error:
        raise Skipped(str(error)) from error
    row = _judge(cell, ours, theirs, cell.program.counts_itself)
    row["account"] = {key: sum(account[key] for account in meter.accounts) for key in meter.accounts[0]}
    row["reference held us"] = sorted(pause["p50"] for pause in meter.pauses)[len(meter.pauses) // 2] / 1000
    row["said"] = meter.said[-1]
    row["seconds"] = time.monotonic() - began
    return row

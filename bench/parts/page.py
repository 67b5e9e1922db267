"""docs/benchmarks.md, and beside it docs/benchmarks.json: the newest result of every part, each with its date, machine
and tree.

A run replaces the parts that it measured, and keeps the others as they are.
"""
import json
import textwrap
from dataclasses import asdict, dataclass, field

from parts.goal import Goal
from parts.report import SECTIONS
from parts.table import table

_EXPLANATION = """\
- A sample is the stack of one thread. Every tool samples all threads, waiting ones too, by wall time.
- CPU is user and system time of the tool and all its processes (wait4), names and output included, as the slope
  between a run as short as the tool can and a long one: start-up stands apart. Medians over repeats that alternate
  between the tools on the same running target (least and most in brackets); ratios are medians of the ratios of each
  repeat.
- Samples per second: while the tool samples, without start-up and output (for py-spy, which does not keep to a time,
  all of its run).
- Torn: stacks that the target's declared calls cannot produce, or with a wrong number of frames; a wrong but possible
  stack is not seen. The tools' own error counts stand beside it.
- At a paced rate much of the CPU is falling asleep and waking up, which every tool pays to the kernel. Tachyon spins
  for the last tenth of each interval, and takes late samples in bursts, as py-spy does.
- Slowdown: pairs with and without the tool in turns of milliseconds (a tool that stops its target: of a second), on
  one running target; 95 % intervals of the median by order statistics. CPU per unit does not show pauses, wall time
  does, and is worth little on a busy machine.
- Exact tracing: thread CPU time of the target's own work, in turns, medians; what a peer adds is measured against a
  process of its own, so that nothing of it stays in ours.
""".splitlines()
_MISSED = """\
- Sampling beside austin, Tachyon and py-spy --nonblocking, bare reads, system calls: these bounds were set when
  samples were read from running threads. Such samples named wrong functions by 5 to 80 points
  ([fidelity.md](fidelity.md)). So a default sample stops its thread now: three calls of ptrace, a wait, one read.
  That is most of what it costs. Reads without a stop cost truth: 17 % of austin's stacks of d200 are impossible, and
  40 % of py-spy's.
- Impossible stacks "at its fastest": `--rate max` reads without stops, and marks what may be torn; these were not
  marked.
- A pause of 56 us at 100 Hz where 50 was promised: at 1,000 Hz the bound is met on the same target, so it is not the
  work but both CPUs having slept before; the first measurement, on another machine, had 46.
- Work beside an idle stub below 1.00x: the reference in turns with it was slower then; a cost would be above.
- Main blocked, a worker running: 34 to 56 ms up to 3.11, 11 to 20 ms from 3.12 on; with the stub there 13 and 2 ms.
- All threads stopped in a capture: the last stop also copies every stack; one in a hundred took 1.7 ms.
- viztracer with --c-calls on fib, filtered code with --c-calls, the last event to no hook left: as measured, not
  explained.
""".splitlines()
_FACTS = ("date", "tree", "mode", "busy before the start", "busy at the end")  # of each part; others are shown once


@dataclass
class Part:
    facts: list = field(default_factory=list)   # [name, value]
    goals: list = field(default_factory=list)   # Goal
    lines: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def fact(self, name):
        return dict(map(tuple, self.facts)).get(name, "-")


def load(path):
    """{name: Part}; empty if there is no file yet."""
    if not path.exists():
        return {}
    parts = json.loads(path.read_text())["parts"]
    return {name: Part(**{**part, "goals": [Goal(**goal) for goal in part["goals"]]}) for name, part in parts.items()}


def save(path, parts):
    document = {"schema": 1, "parts": {name: asdict(part) for name, part in parts.items()}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _where(parts):
    """Facts that all parts share are shown once; those that differ are shown in the section of each part."""
    names = list(dict.fromkeys(name for part in parts.values() for name, _ in part.facts if name not in _FACTS))
    values = {name: {part.fact(name) for part in parts.values()} - {"-"} for name in names}
    shared = [[name, *values[name]] for name in names if len(values[name]) == 1]
    return shared, [name for name in names if len(values[name]) > 1]


def _section(title, part, different):
    own = [[name, value] for name, value in part.facts if name in different]
    return [f"## {title}", "", *(table(["", ""], own) if own else []), *part.lines,
            *(f"- {note}" for note in part.notes), *([""] if part.notes else [])]


def _wrapped(line):
    """Wraps prose to the width that tests/lint/check_words.py allows; tables and commands stay on one line."""
    if len(line) <= 120 or line.startswith(("|", "taskset")):
        return [line]
    return textwrap.wrap(line, 120, subsequent_indent="  " if line.startswith("- ") else "", break_on_hyphens=False)


def render(parts):
    """The page, as text."""
    there = [(name, title, parts[name]) for name, title, _ in SECTIONS if name in parts]
    shared, different = _where(parts)
    goals = [(title, goal) for _, title, part in there for goal in part.goals]
    met = sum(goal.verdict == "met" for _, goal in goals)
    lines = ["# Benchmarks", "", "This page has the measured cost of ptrace-prof, beside other profilers and its own promises.", "",
             "`./dev bench` writes it from [benchmarks.json](benchmarks.json); do not edit it by hand. Each part is of its own run; "
             "`./dev bench PART` measures one anew.", ""]
    lines += table(["part", *_FACTS], [[title, *(part.fact(name) for name in _FACTS)] for _, title, part in there])
    lines += table(["", ""], shared) if shared else []
    lines += [f"## Promises: {met} of {len(goals)} met", ""]
    lines += table(["part", "promise", "bound", "measured", ""],
                   [[title, goal.what, goal.bound, goal.measured, f"**{goal.verdict}**"] for title, goal in goals])
    lines += ["## How to read it", "", *_EXPLANATION, ""]
    lines += ["## Why promises are missed", "", *_MISSED, ""]
    for _, title, part in there:
        lines += _section(title, part, different)
    return "\n".join(wrapped for line in lines for wrapped in _wrapped(line)).rstrip() + "\n"

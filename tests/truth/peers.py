"""The same question to other profilers: each alternates with the reference on one running program (./dev soak truth
--peers).

Tools name functions differently, so here a function is its plain name and its file's name. The table has for each tool
the largest error of a self and of an inclusive share, samples per requested second (1 kHz), and its own report of
errors.
"""
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import cells
import measure
from compare import Seen, against
from support import soak
from support.stacks import Frame

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from parts import tools  # noqa: E402

PROGRAMS = (("call sites", "3.12"), ("raytrace", "3.12"), ("deepcopy", "3.12"), ("richards", "3.12"), ("shapes", "3.12"),
            ("raytrace", "3.15"), ("call sites", "3.15"))
SECONDS = 1.0
HEAD = ("| program, CPython | tool | samples | largest self error, points | largest inclusive error | its own words |\n"
        + "|---" * 6 + "|")


def function(frame):
    return Frame(frame.plain, pathlib.PurePath(frame.file).name)


def look(tool, target, cpu, folder):
    """(Seen, output) of one slot."""
    output = pathlib.Path(folder, f"slot.{tool.suffix}")
    place = tool.where(target, output)
    place.unlink(missing_ok=True)
    command = ["taskset", "-c", str(cpu), *tool.command(target, 1000, SECONDS, output)]
    if cpu is None:
        command = command[3:]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "LC_ALL": "C"})
    if done.returncode not in tool.good_statuses:
        raise measure.Skipped(f"{tool.name} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-200:].splitlines()[-1]}")
    told = tool.parse(place, done.stdout + done.stderr)
    place.unlink(missing_ok=True)
    return Seen.of(measure.functions_only(told.stacks), function), told.said


def largest(differences, kind):
    of_kind = [each for each in differences if each.kind == kind]
    worst = max(of_kind, key=lambda each: abs(each.value), default=None)
    return f"{worst.function.name} {100 * worst.value:+.1f} ± {100 * worst.error:.1f}" if worst else "–"


def row(cell, tool, rounds, folder):
    target_cpu, cpu = soak.two_cpus()
    ours, theirs, said = [], [], "–"
    with measure.running(cell, target_cpu) as (target, pids):
        meter = measure.Meter(cell, target, pids, cpu, SECONDS, [])
        for number in range(rounds):
            for is_tool in ((True, False) if number % 2 == 0 else (False, True)):
                if is_tool:
                    seen, said = look(tool, target, cpu, folder)
                    ours.append(seen)
                else:
                    theirs.append(meter.reference(function))
    differences = against(ours, theirs)
    samples = statistics.mean(seen.samples for seen in ours)
    return (f"| {cell.name} | {tool.name} | {samples * rounds:,.0f} | {largest(differences, 'own')} | "
            f"{largest(differences, 'inclusive')} | {said} |")


def run(rounds, only, path):
    programs = {program.name: program for program in cells.SYNTHETIC + cells.REAL}
    found, missing = tools.available()
    lines = [HEAD]
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, minor in PROGRAMS:
            cell = cells.Cell(programs[name], minor, 1000)
            if only and not any(word in cell.name for word in only.split(";")):
                continue
            for tool in [tools.PtraceProf(suffix="collapsed"), *found]:
                if minor not in tool.minors:
                    continue
                with contextlib.suppress(ProcessLookupError):
                    try:
                        lines.append(row(cell, tool, rounds, folder))
                    except measure.Skipped as error:
                        lines.append(f"| {cell.name} | {tool.name} | – | – | – | {error} |")
                    print(lines[-1], flush=True)
    lines += ["", *(f"Missing: {each}" for each in missing)] if missing else []
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")

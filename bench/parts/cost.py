"""Runs a tool against a target and returns its cost and its samples."""
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

from parts.tools import TOOL_CORE, REPOSITORY
from support.grammar import Grammar


@dataclass
class Run:
    cpu: float        # seconds of the tool and all its children: start, sampling, names, output
    wall: float       # seconds of the whole command
    sampling: float   # seconds of sampling
    samples: int
    output: object    # tools.Output
    torn: int         # samples with a stack that is impossible in the target
    peak_kib: int     # the largest resident set of any of its processes


class Refused(Exception):
    """The tool failed, or wrote nothing."""


def command_line(tool, target, rate, seconds, output):
    return ["taskset", "-c", str(TOOL_CORE), *tool.command(target, rate, seconds, output)]


def output_path(folder, tool):
    """A unique name, because a tool in another root writes to that root's /tmp."""
    return pathlib.Path(folder, f"{pathlib.Path(folder).name}.{tool.suffix}")


def _torn(scenario, stacks):
    if not scenario.judged:
        return 0
    grammar = Grammar(REPOSITORY / "bench/targets" / scenario.script)
    torn = 0
    for stack, count in stacks.items():
        frames = tuple(frame for frame in stack if frame.file or frame.name.startswith("["))
        levels = sum(frame.plain == "descend" for frame in frames)
        working = any(frame.plain.startswith("work") for frame in frames)
        wrong_depth = working and levels != scenario.frames and not any(frame.is_marker for frame in frames)
        if wrong_depth or grammar.fault(frames):
            torn += count
    return torn


def _wait(process, interrupt_after):
    """The resource usage of the process and of those children that it waited for."""
    timer = threading.Timer(interrupt_after, lambda: os.kill(process.pid, signal.SIGINT)) if interrupt_after else None
    if timer:
        timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    if timer:
        timer.cancel()
        timer.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def run(tool, target, rate, seconds, judge=True):
    with tempfile.TemporaryDirectory(prefix="ptrace-prof-bench-") as folder:
        output = output_path(folder, tool)
        log = pathlib.Path(folder, "said")
        started = time.monotonic()
        with open(log, "wb") as said:
            process = subprocess.Popen(command_line(tool, target, rate, seconds, output), stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=said, env={**os.environ, "LC_ALL": "C"})
            usage = _wait(process, seconds + 0.5 if tool.overstays else None)
        wall = time.monotonic() - started
        words = log.read_text(errors="replace")
        written = tool.where(target, output)
        try:
            if process.returncode not in tool.good_statuses or not written.exists():
                raise Refused(f"{tool.name} ended with {process.returncode}: {words.strip()[-300:]}")
            parsed = tool.parse(written, words)
            size = written.stat().st_size
        finally:
            written.unlink(missing_ok=True)
        parsed.facts["bytes"] = size
        torn = _torn(target.scenario, parsed.stacks) if judge else 0
        return Run(usage.ru_utime + usage.ru_stime, wall, wall if tool.overstays else min(wall, seconds),
                   parsed.samples or parsed.facts.get("samples", 0), parsed, torn, usage.ru_maxrss)

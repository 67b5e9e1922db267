"""Runs all shapes of calls on request, while another tool is active in this process. Reports the expected calls first.

argv: nothing, settrace, monitoring (as a coverage tool uses it), profiler (cProfile, all the time) or setprofile (set
and cleared by the job, around each shape). Says "shape NAME JSON" for each, and "all". Words: "run" and "fork" are
answered with "ran"; "exec" and "exit" do what they say, after a run.
"""
import contextlib
import gc
import json
import os
import select
import sys
import threading
import types

import call_shapes
import frame_recorder
import pact

CHILDREN = 8


def expect():
    call_shapes.all_of_them()  # so that caches fill and specialisation settles
    with frame_recorder.FrameRecorder(call_shapes.ROOTS + call_shapes.IN_THREADS) as recorder:
        call_shapes.all_of_them()
    for name, rows in recorder.found.items():
        pact.say("shape", name, json.dumps(rows))


def tracer(_frame, _event, _argument):
    return tracer


@contextlib.contextmanager
def settrace():
    sys.settrace(tracer)
    threading.settrace(tracer)
    yield
    sys.settrace(None)
    threading.settrace(None)


@contextlib.contextmanager
def monitoring():
    """Each line is reported once, as coverage does it from 3.12 on."""
    tool, event = sys.monitoring.COVERAGE_ID, sys.monitoring.events.LINE
    lines = []

    def on_line(code, number):
        lines.append((code, number))
        return sys.monitoring.DISABLE
    sys.monitoring.use_tool_id(tool, "coverage")
    sys.monitoring.register_callback(tool, event, on_line)
    sys.monitoring.set_events(tool, event)
    yield
    sys.monitoring.set_events(tool, 0)
    sys.monitoring.register_callback(tool, event, None)
    sys.monitoring.free_tool_id(tool)
    assert lines, "the tool saw nothing"


@contextlib.contextmanager
def profiler():
    import cProfile
    profile = cProfile.Profile()
    profile.enable()
    yield
    profile.disable()
    assert profile.getstats(), "cProfile saw nothing"


@contextlib.contextmanager
def setprofile():
    seen = []
    sys.setprofile(lambda frame, event, argument: seen.append(event))
    yield
    mine = sys.getprofile()
    sys.setprofile(None)
    assert seen and mine, "the job's own profile function is gone"


def with_profile_of_its_own():
    for root in call_shapes.ROOTS:
        with setprofile():
            root()
    call_shapes.ends_threads()


def fork():
    """Children that do the same; every other one then becomes another program."""
    children = []
    for number in range(CHILDREN):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                call_shapes.all_of_them()
                if number % 2:
                    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "pass"])
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    call_shapes.all_of_them()
    assert all(os.waitpid(child, 0)[1] == 0 for child in children), "a child ended badly"


def become_another():
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "print('became another')"])


def codes_below(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_below(constant)


def leave():
    """Keeps code objects alive until the end: that they are freed while a collector is late is not tested here."""
    import ctypes
    for function in [one for one in gc.get_objects() if isinstance(one, types.FunctionType)]:
        for code in codes_below(function.__code__):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    print("left")
    sys.exit(3)


def goes_round():
    """Called all the time: a trace that has it has begun."""


def do(word, run):
    {"fork": fork}.get(word, run)()
    if word == "exec":
        become_another()
    if word == "exit":
        leave()
    pact.say("ran")


def main():
    companion = sys.argv[1]
    around = {"settrace": settrace, "monitoring": monitoring, "profiler": profiler}.get(companion, contextlib.nullcontext)
    run = with_profile_of_its_own if companion == "setprofile" else call_shapes.all_of_them
    pact.say("ready")
    expect()
    with around():
        pact.say("all")
        while True:
            goes_round()
            if select.select([pact.descriptor()], [], [], 0.001)[0]:
                word = pact.hear() or "finish"
                if word == "finish":
                    break
                do(word, run)
    print("ended well")


main()

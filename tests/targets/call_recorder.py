"""Records the events that the interpreter reports to a recorder written in Python, in the form in which a traced thread
writes them, and beside them the truth: the stack of frames at each event.

Not run alone: the test passes an interpreter the text of stub_corpus.py and then this one, on standard input. Prints
JSON: for each run its name, the snapshot, the records, and the expected lines; then the names of called addresses.
"""
import dis
import json
import threading

_HOW = dict(START="call", RESUME="resume", THROW="throw", RETURN="return", YIELD="yield", UNWIND="unwind",
            C_RETURN="return", C_RAISE="unwind")
_SUSPENDS = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
_PYTHON_CALLABLES = (type(lambda: 0), type(json.JSONEncoder().encode))
_names, _held = {}, []


def _name(thing, text):
    _held.append(thing)
    _names[id(thing)] = text
    return id(thing)


def _is_ours(code):
    return code.co_filename == __file_name__ and not code.co_name.startswith("_rec") and code.co_name != "<module>"


def _rec_frames(frame):
    """Our frames, innermost first."""
    frames = []
    while frame is not None:
        if _is_ours(frame.f_code):
            frames.append(frame)
        frame = frame.f_back
    return frames


class _Recording:
    """The recording of one thread."""

    def __init__(self, frame):
        frames = _rec_frames(frame)
        self.snapshot = [[_name(one.f_code, one.f_code.co_name), _name(one, "")] for one in reversed(frames)]
        self.records = []
        self.expected = [["begin", depth + 1, one.f_code.co_name, "running", 0]
                         for depth, one in enumerate(reversed(frames))]
        self.generators = {}

    def _rec_generator(self, tag, frame):
        if tag == "START" or frame not in self.generators:
            self.generators[frame] = len(self.generators) + 1
        return self.generators[frame]

    def rec_event(self, tag, frame):
        code, depth = frame.f_code, len(_rec_frames(frame))
        self.records.append([tag, _name(code, code.co_name)])
        generator = 0
        if code.co_flags & _SUSPENDS:
            self.records.append(["FRAME", _name(frame, "")])
            if tag in ("START", "RESUME", "THROW"):
                generator = self._rec_generator(tag, frame)
        if tag in ("START", "RESUME", "THROW"):
            self.expected.append(["begin", depth, code.co_name, _HOW[tag], generator])
        else:
            self.expected.append(["end", depth, code.co_name, _HOW[tag]])

    def rec_call(self, tag, callable_, frame):
        if isinstance(callable_, _PYTHON_CALLABLES):
            return
        name = getattr(callable_, "__name__", type(callable_).__name__)
        depth = len(_rec_frames(frame))
        self.records.append([tag, _name(callable_, name)])
        if tag == "C_CALL":
            if not isinstance(callable_, type):
                self.records.append(["CODE", _name(name, name)])
            self.expected.append(["begin", depth, name, "c", 0])
        else:
            self.expected.append(["end", depth, name, _HOW[tag]])


_recordings = {}


def _rec_here(frame):
    """The recording of this thread. Its first frames are those that were there when it began."""
    return _recordings.get(threading.get_ident())


def _rec_leaving(frame, argument):
    """The kind of end that a `return` event reports, up to 3.11."""
    code, at = frame.f_code, frame.f_lasti
    if at < 0:
        return "UNWIND"
    operation = dis.opname[code.co_code[at]]
    following = dis.opname[code.co_code[at + 2]] if at + 2 < len(code.co_code) else ""
    if code.co_flags & _SUSPENDS and (operation == "YIELD_VALUE" or following == "YIELD_FROM"):
        return "UNWIND" if argument is None else "YIELD"
    return "RETURN" if operation == "RETURN_VALUE" else "UNWIND"


def _rec_profile(frame, event, argument):
    recording = _rec_here(frame)
    if recording is None or not _is_ours(frame.f_code):
        return
    if event == "call":
        begun = frame.f_code.co_flags & _SUSPENDS and frame in recording.generators
        recording.rec_event("RESUME" if begun else "START", frame)
    elif event == "return":
        recording.rec_event(_rec_leaving(frame, argument), frame)
    else:
        recording.rec_call({"c_call": "C_CALL", "c_return": "C_RETURN", "c_exception": "C_RAISE"}[event], argument, frame)


def _rec_monitor():
    events = sys.monitoring.events
    sys.monitoring.use_tool_id(3, "recorder")

    def _rec_frame_event(tag):
        def _rec_callback(code, *_):
            recording = _rec_here(None)
            if recording is not None and _is_ours(code):
                recording.rec_event(tag, sys._getframe(1))
        return _rec_callback

    def _rec_call_event(tag):
        def _rec_callback(code, _offset, callable_, _argument):
            recording = _rec_here(None)
            if recording is not None and _is_ours(code):
                recording.rec_call(tag, callable_, sys._getframe(1))
        return _rec_callback

    for tag, event in (("START", events.PY_START), ("RESUME", events.PY_RESUME), ("THROW", events.PY_THROW),
                       ("RETURN", events.PY_RETURN), ("YIELD", events.PY_YIELD), ("UNWIND", events.PY_UNWIND)):
        sys.monitoring.register_callback(3, event, _rec_frame_event(tag))
    for tag, event in (("C_CALL", events.CALL), ("C_RETURN", events.C_RETURN), ("C_RAISE", events.C_RAISE)):
        sys.monitoring.register_callback(3, event, _rec_call_event(tag))
    sys.monitoring.set_events(3, events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_RETURN |
                              events.PY_YIELD | events.PY_UNWIND | events.CALL | events.C_RETURN | events.C_RAISE)


HAS_MONITORING = sys.version_info >= (3, 12)


def _rec_start():
    _recordings[threading.get_ident()] = _Recording(sys._getframe(1))
    if not HAS_MONITORING:
        sys.setprofile(_rec_profile)


def _rec_stop():
    """Calls that are still open are cut."""
    if not HAS_MONITORING:
        sys.setprofile(None)
    recording = _recordings.pop(threading.get_ident(), None)
    frames = _rec_frames(sys._getframe(1))
    for depth, frame in zip(range(len(frames), 0, -1), frames):
        recording.expected.append(["end", depth, frame.f_code.co_name, "cut"])
    return recording


_results = []


def _rec_keep(name, recording):
    # The caller of the recorder itself does not belong to the job's calls.
    _results.append(dict(name=name, snapshot=recording.snapshot, records=recording.records, expected=recording.expected))


def _rec_run(function):
    _rec_start()
    try:
        function()
    finally:
        recording = _rec_stop()
    _rec_keep(function.__name__, recording)


def begins_inside(depth):
    if depth == 0:
        _rec_start()
        return leaf()
    return begins_inside(depth - 1) + leaf()


def ends_inside(depth):
    if depth == 0:
        return _rec_keep("ends_inside", _rec_stop())
    return ends_inside(depth - 1)


def suspended_before():
    generator = numbers()
    next(generator)
    _rec_start()
    for _ in generator:
        leaf()


def deep():
    return countdown(300)


def falls(depth):
    if depth == 0:
        raise ValueError
    falls(depth - 1)


def falls_far():
    try:
        falls(100)
    except ValueError:
        return leaf()


def raises_in_c():
    try:
        return sorted([2, 1], key=lambda number: int("x"))
    except ValueError:
        return leaf()


def comprehends():
    return [leaf() for _ in range(3)] + list(map(by_key, [1, 2])) + [number for number in numbers()]


def abandons():
    generator = numbers()
    next(generator)
    del generator
    return leaf()


def interleaves():
    one, two = numbers(), numbers()
    next(one), next(two), next(one), next(two)
    return leaf()


def in_threads():
    threads = [threading.Thread(target=_rec_run, args=(scenario,)) for scenario in (coroutines, calls, objects, deep)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _rec_main():
    if HAS_MONITORING:
        _rec_monitor()
    for scenario, _ in SCENARIOS:
        _rec_run(scenario)
    for scenario in (deep, falls_far, raises_in_c, comprehends, abandons, interleaves):
        _rec_run(scenario)
    in_threads()
    begins_inside(5)
    _rec_keep("begins_inside", _rec_stop())
    suspended_before()
    _rec_keep("suspended_before", _rec_stop())
    _rec_start()
    ends_inside(5)
    print(json.dumps(dict(runs=_results, names={str(address): name for address, name in _names.items() if name})))


__file_name__ = _rec_main.__code__.co_filename
_rec_main()

"""The true calls below some functions, found by a recorder in Python that counts frames at every begin.

with FrameRecorder(roots) as recorder: …; recorder.found: {name of a root: [[depth, name, whether it is a stretch of
something that suspends]]}, a row for each begin, in order. The depth follows the begins and ends that the interpreter
reports; recorder.deeper: roots below which there were frames in between that it did not report.
"""
import dis
import sys
import threading

HAS_MONITORING = sys.version_info >= (3, 12)
SUSPENDS = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR
TOOL = 5


def goes_on(frame):
    """Up to 3.11, for a `call` event: whether it is no beginning (on 3.11 also if an exception is thrown in first)."""
    if sys.version_info < (3, 11):
        return frame.f_lasti >= 0
    code, at = frame.f_code.co_code, frame.f_lasti
    return not (code[at] == dis.opmap["RESUME"] and code[at + 1] == 0)


class _Thread:
    def __init__(self):
        self.root = None    # the frame
        self.rows, self.open = [], []
        self.stretches = {}  # last rows of suspending frames, by address: a held frame lives on


class FrameRecorder:
    def __init__(self, roots):
        self.roots = {root.__code__ for root in roots}
        self.found, self.threads, self.ways, self.deeper = {}, {}, {}, set()

    def _begin(self, frame, goes_on=False):
        thread = self.threads.setdefault(threading.get_ident(), _Thread())
        if thread.root is None:
            if frame.f_code not in self.roots:
                return
            thread.__init__()
            thread.root = frame
        depth, at = 0, frame
        while at is not thread.root and at is not None:  # 3.9 loses the frames above a generator that is thrown into
            depth, at = depth + 1, at.f_back
        if depth != len(thread.open):
            self.deeper.add(thread.root.f_code.co_name)
        row = [len(thread.open), frame.f_code.co_name, goes_on]
        if frame.f_code.co_flags & SUSPENDS:
            if goes_on and id(frame) in thread.stretches:  # then it was suspended
                thread.stretches[id(frame)][2] = True
            thread.stretches[id(frame)] = row
        thread.open.append(row)
        thread.rows.append(row)

    def _end(self, frame, suspends=False):
        thread = self.threads.get(threading.get_ident())
        if thread is None or thread.root is None:
            return
        row = thread.open.pop()
        row[2] = row[2] or suspends
        if frame is thread.root:
            self.found[frame.f_code.co_name] = thread.rows
            thread.__init__()

    def _profile(self, frame, event, _argument):
        if event == "call":
            self._begin(frame, bool(frame.f_code.co_flags & SUSPENDS) and goes_on(frame))
        elif event == "return":
            self._end(frame)

    def _monitor(self):
        events, monitoring = sys.monitoring.events, sys.monitoring
        monitoring.use_tool_id(TOOL, "recorder")
        self.ways = {events.PY_START: lambda *_: self._begin(sys._getframe(1)),
                     events.PY_RESUME: lambda *_: self._begin(sys._getframe(1), True),
                     events.PY_THROW: lambda *_: self._begin(sys._getframe(1), True),
                     events.PY_RETURN: lambda *_: self._end(sys._getframe(1)),
                     events.PY_UNWIND: lambda *_: self._end(sys._getframe(1)),
                     events.PY_YIELD: lambda *_: self._end(sys._getframe(1), True)}
        for event, callback in self.ways.items():
            monitoring.register_callback(TOOL, event, callback)
        monitoring.set_events(TOOL, sum(self.ways))

    def __enter__(self):
        if HAS_MONITORING:
            self._monitor()
        else:
            threading.setprofile(self._profile)
            sys.setprofile(self._profile)
        return self

    def __exit__(self, *_):
        if HAS_MONITORING:
            sys.monitoring.set_events(TOOL, 0)
            for event in self.ways:
                sys.monitoring.register_callback(TOOL, event, None)
            sys.monitoring.free_tool_id(TOOL)
        else:
            sys.setprofile(None)
            threading.setprofile(None)

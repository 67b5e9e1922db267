"""Reads the stacks of MOJO, the binary format of austin: format version 3, austin 3.4 and later.

https://github.com/P403n1x87/austin/wiki/The-MOJO-file-format describes it: a stream of events, each one byte and its
fields; strings and frames are sent once and later referred to by a key. Frames come outermost first.
"""
import collections

from support.stacks import Frame

_METADATA, _STACK, _FRAME, _INVALID, _REFERENCE, _KERNEL, _GC, _IDLE, _TIME, _MEMORY, _STRING, _STRING_REFERENCE = range(
    1, 13)


class _Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        byte = self.byte()
        value, shift, negative = byte & 0x3F, 6, byte & 0x40
        while byte & 0x80:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
        return -value if negative else value

    def text(self):
        end = self.data.index(0, self.at)
        found = self.data[self.at:end].decode("utf-8", "replace")
        self.at = end + 1
        return found


def stacks(data):
    """Counter of stacks, outermost frame first."""
    source = _Bytes(data)
    if source.data[:3] != b"MOJ":
        raise ValueError("not a MOJO file")
    source.at = 3
    version = source.number()
    if version < 3:
        raise ValueError(f"MOJO version {version} is not read here")
    counts = collections.Counter()
    strings, frames, stack = {}, {}, None

    def finish():
        if stack is not None:
            counts[tuple(stack)] += 1

    while source.at < len(data):
        event = source.byte()
        if event == _METADATA:
            source.text(), source.text()
        elif event == _STACK:
            finish()
            source.number(), source.number(), source.text()
            stack = []
        elif event == _FRAME:
            key, file, scope, line = (source.number() for _ in range(4))
            for _ in range(3):
                source.number()
            frames[key] = Frame(strings.get(scope, "?"), strings.get(file, "?"), line)
        elif event == _REFERENCE:
            stack.append(frames.get(source.number(), Frame("?")))
        elif event == _INVALID:
            stack.append(Frame("INVALID", "INVALID"))
        elif event == _KERNEL:
            source.text()
        elif event in (_TIME, _MEMORY):
            source.number()
        elif event == _STRING:
            strings_key = source.number()
            strings[strings_key] = source.text()
        elif event == _STRING_REFERENCE:
            source.number()
        elif event not in (_GC, _IDLE):
            raise ValueError(f"unknown MOJO event {event} at {source.at}")
    finish()
    return counts

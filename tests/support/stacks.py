"""Stacks as the profiler reports them, outermost frame first, and how to compare names across versions."""
from dataclasses import dataclass

TRUNCATED = "[truncated]"


@dataclass(frozen=True)
class Frame:
    name: str  # as reported: a qualified name from 3.11 on
    file: str = ""
    line: int = 0  # 0: not reported

    @property
    def plain(self):
        """The last part of the name: the same on every version."""
        return self.name if self.name.startswith("<") else self.name.rsplit(".", 1)[-1]

    @property
    def is_marker(self):
        """Whether this is no Python frame but a marker of ours, such as [truncated]."""
        return self.name.startswith("[")


def plain_names(stack):
    return [frame.plain for frame in stack if not frame.is_marker]


def is_truncated(stack):
    return any(frame.name == TRUNCATED for frame in stack)

"""Line numbers of a target's source, found by their comments: `…  # line: wait`."""
import re

from .target_process import TARGETS


def line_of(script, mark):
    lines = (TARGETS / script).read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if re.search(rf"# line: {re.escape(mark)}$", line)]
    assert len(found) == 1, f"{script} has {len(found)} lines marked {mark}"
    return found[0]

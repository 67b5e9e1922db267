"""Tracing a process with many waiting threads: they are not stopped, and their stacks are known from the beginning on.
"""
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402

WAITING = 200


class ManyThreadsTrace(case.Case):
    def traced(self, *how):
        with self.start("many_in_epoll.py", WAITING, *how) as target, tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.pftrace")
            for _ in range(3):  # the first run loads the tracer, the others find it there
                recorded = profiler.must("record", "--pid", target.pid, "--mode", "trace", "-d", "100ms", "-o", output)
                self.assertRegex(recorded.errors, r"returns without a call 0")  # there are many rings, and they are small
                stacks = profiler.must("export", output, "--format", "collapsed", "-o", "-").output
                self.assertRegex(stacks, r"\b(step|is_set)\b")  # on a busy machine, it gets to one of them only
                waiting = {line.rsplit(" ", 1)[0] for line in stacks.splitlines() if "begins" in line and "waits_in_epoll" in line}
                self.assertEqual(len(waiting), WAITING)
            self.assertUnharmed(target.pid)
            target.tell("finish")
            interrupted = int(target.expect("interrupted").text.split()[1])
            self.assertEqual((target.wait(), target.stderr()), (0, ""))
        return interrupted

    def test_who_waits_is_left_alone(self):
        for how in ((), ("asleep",), ("by turns",)):
            with self.subTest(how=how):
                interrupted = self.traced(*how)
                if not self.interpreter.minor.endswith("t"):  # without a GIL all are stopped
                    self.assertEqual(interrupted, 0)


if __name__ == "__main__":
    case.main()

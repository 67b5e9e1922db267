"""What threads are said to do: running, waiting for the GIL or for something else, by name; who has the GIL; collecting."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402

SLEEPS = {"select", "pselect6", "nanosleep", "clock_nanosleep"}
WAITS = {"sleeping": SLEEPS, "polling": {"epoll_wait"}, "reading": {"read"}, "locked": {"futex"}}
PATIENCE = 60  # s


class States(case.Case):
    def all_wait(self, waiting):
        seen = {name: waiting.get(name, ("", "")) for name in WAITS}
        return all(seen[name][0] == "idle" and seen[name][1] in calls for name, calls in WAITS.items())

    def start_with_gil(self, *script):
        return self.start(*script, env={"PYTHON_GIL": "1"} if self.interpreter.is_free_threaded else None)

    def test_nobody_waits_for_a_gil_that_is_not_there(self):
        if not self.interpreter.is_free_threaded:
            return
        target = self.start("states.py")
        for _ in range(20):
            busy = [thread.raw for thread in profiler.dump(target.pid) if thread.name.startswith("busy")]
            self.assertEqual([(thread["state"], thread["holds_gil"]) for thread in busy], [("running", False)] * 2)
        self.assertUnharmed(target.pid)

    def test_what_threads_wait_for(self):
        target = self.start_with_gil("states.py")
        seen, waiting = set(), {}
        deadline = time.monotonic() + PATIENCE
        while (not {"gil-wait", "holder", "running"} <= seen or not self.all_wait(waiting)) and time.monotonic() < deadline:
            threads = profiler.dump(target.pid)
            busy = [thread.raw for thread in threads if thread.name.startswith("busy")]
            self.assertEqual(len(busy), 2)
            holders = [thread.name for thread in threads if thread.raw["holds_gil"]]
            self.assertLessEqual(len(holders), 1)
            self.assertEqual([name for name in holders if not name.startswith("busy")], [])
            seen.update(thread["state"] for thread in busy)
            seen.update("holder" for _ in holders)
            waiting = {thread.name.split("-")[0]: (thread.raw["state"], thread.raw["detail"]) for thread in threads}
        self.assertLessEqual({"gil-wait", "holder", "running"}, seen)
        self.assertTrue(self.all_wait(waiting), waiting)
        self.assertUnharmed(target.pid)

    def stacks(self, *script):
        target = self.start_with_gil(*script)
        run = profiler.Recording(target.pid, "--duration", "1s", "--rate", "1khz", "--max-overhead", "off", "--gil")
        self.addCleanup(run.remove)
        finished = run.wait()
        self.assertEqual(finished.status, 0, finished)
        return [stack for thread in run.sequences() for stack in thread]

    def test_collecting(self):
        leaves = [stack[-1] for stack in self.stacks("states.py", "gc") if "collecting" in stack]
        self.assertGreater(leaves.count("<GC>"), len(leaves) / 2, set(leaves))
        self.assertNotIn("<GC>", [name for stack in self.stacks("busyloop.py") for name in stack])


if __name__ == "__main__":
    case.main()

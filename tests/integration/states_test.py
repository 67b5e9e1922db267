"""The reported states of threads: running, waiting for the GIL or something else, by name; the GIL's owner; collecting.
"""
import collections
import os
import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.target_process import status_fields  # noqa: E402

SLEEPS = {"select", "pselect6", "nanosleep", "clock_nanosleep"}
WAITS = {"sleeping": SLEEPS, "polling": {"epoll_wait"}, "reading": {"read"}, "locked": {"futex"}}
PATIENCE = 60  # s


class States(case.Case):
    def all_wait(self, waiting):
        seen = {name: waiting.get(name, ("", "")) for name in WAITS}
        return all(seen[name][0] == "idle" and seen[name][1] in calls for name, calls in WAITS.items())

    @staticmethod
    def by_name(threads):
        return {thread.name.split("-")[0]: (thread.raw["state"], thread.raw["detail"]) for thread in threads}

    def waits(self, target, *options):
        return self.by_name(profiler.dump(target.pid, *options))

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
            waiting = self.by_name(threads)
        self.assertLessEqual({"gil-wait", "holder", "running"}, seen)
        self.assertTrue(self.all_wait(waiting), waiting)
        self.assertUnharmed(target.pid)

    def test_waits_under_a_stop_are_waits(self):
        target = self.start_with_gil("states.py")
        deadline = time.monotonic() + PATIENCE
        for _ in range(10):
            while not self.all_wait(self.waits(target)) and time.monotonic() < deadline:
                pass  # our last stop interrupts epoll_wait; such threads need the GIL before they wait again
            waiting = self.waits(target, "--blocking")
            self.assertTrue(self.all_wait(waiting), waiting)
        self.assertUnharmed(target.pid)

    def test_one_that_wakes_among_many_is_seen(self):
        target = self.start("many_waiting.py")
        stacks, run = profiler.record(target.pid, 3)
        seen = sum(count for stack, count in stacks.items() if any(frame.plain == "wakes" for frame in stack))
        self.assertGreater(seen, 25, run)  # a sixth of 300 instants on an idle machine, more on a busy one
        self.assertUnharmed(target.pid)

    def await_sleep(self, pid, tids):
        deadline = time.monotonic() + PATIENCE
        stats = [pathlib.Path(f"/proc/{pid}/task/{tid}/stat") for tid in tids]
        while any(stat.read_text().rpartition(")")[2].split()[0] != "S" for stat in stats):
            self.assertLess(time.monotonic(), deadline, "they never all waited")

    @staticmethod
    def turns_on_a_cpu(pid, tids):
        return {tid: int(pathlib.Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split()[2]) for tid in tids}

    def test_many_that_wait_are_left_alone_while_others_hand_on_the_gil(self):
        """To stop all of them takes long, and would hold up the two threads that work."""
        if self.interpreter.is_free_threaded:
            return
        target = self.start("many_waiting.py", "handing")
        idle = sorted(map(int, os.listdir(f"/proc/{target.pid}/task")))[1:-2]
        self.assertEqual(len(idle), 200)
        self.await_sleep(target.pid, idle)
        before = self.turns_on_a_cpu(target.pid, idle)
        stacks, run = profiler.record(target.pid, 2, "--rate", "400")
        after = self.turns_on_a_cpu(target.pid, idle)
        self.assertLess(sum(after[tid] != before[tid] for tid in idle), 20, run)
        seen = sum(count for stack, count in stacks.items() if any(frame.plain == "hands_on" for frame in stack))
        self.assertGreater(seen, 50, run)
        self.assertUnharmed(target.pid)

    def test_one_that_is_inside_a_subinterpreter_is_stopped_for_that_alone(self):
        target = self.start("lets_nobody_in.py", "subinterpreter")
        said = profiler.must("record", "--pid", target.pid, "--rate", "200", "-d", "2s", "-o", "-", "-f", "text").errors
        counts = {what: int(number.replace(",", "")) for number, what in re.findall(r"([\d,]+) (samples|brief stops)", said)}
        self.assertLess(counts["brief stops"], 1.5 * counts["samples"], said)

    def test_one_that_is_stopped_stands_still(self):
        reading = ((), ("--nonblocking",))
        for script, ways in ((("busyloop.py",), (*reading, ("--blocking",))), (("many_waiting.py", "asleep"), reading)):
            with self.subTest(script):
                self.stands_still(self.start(*script), ways)

    @staticmethod
    def have_all_stopped(pid):
        stats = [task.joinpath("stat").read_text() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
        return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)

    def stands_still(self, target, ways):
        os.kill(target.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, target.pid, signal.SIGCONT)
        deadline = time.monotonic() + PATIENCE
        while not self.have_all_stopped(target.pid) and time.monotonic() < deadline:
            pass
        for options in ways:
            states = {(thread.raw["state"], thread.raw["detail"]) for thread in profiler.dump(target.pid, *options)}
            self.assertEqual(states, {("job-stopped", "a signal")}, options)
            run = profiler.Recording(target.pid, "--duration", "1s", *options)
            self.addCleanup(run.remove)
            finished = run.wait()
            self.assertEqual(finished.status, 0, finished)
            stood = re.search(r"the process was stopped for ([\d.]+) s", finished.errors)
            self.assertTrue(stood, finished)
            self.assertGreater(float(stood[1]), 0.5, finished)
            awake = max(run.stacks().values(), default=0)  # after a stop of ours each thread wakes up to stop again
            self.assertLess(awake, 10, (options, finished))
        self.assertTrue(status_fields(target.pid)["State"].startswith("T"))

    def leaves_in(self, function, *script):
        """Counts samples by their youngest frame, of the stacks that contain a function."""
        target = self.start_with_gil(*script)
        stacks, _ = profiler.record(target.pid, 1, "--rate", "1khz", "--gil")
        leaves = collections.Counter()
        for stack, count in stacks.items():
            if any(frame.plain == function for frame in stack):
                leaves[stack[-1].name] += count
        return leaves

    def test_collecting(self):
        leaves = self.leaves_in("collecting", "states.py", "gc")
        self.assertGreater(leaves["<GC>"], sum(leaves.values()) / 2, leaves)
        busy = self.leaves_in("busy_loop", "busyloop.py")
        self.assertGreater(sum(busy.values()), 0)
        self.assertEqual(busy["<GC>"], 0)


if __name__ == "__main__":
    case.main()

"""What recordings contain: the right functions, idle threads only where requested, children, a bounded number of
threads."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, grammar, profiler, stacks  # noqa: E402
from support.target_process import DEADLINE, TARGETS  # noqa: E402

FAST = ("--rate", "2khz", "--max-overhead", "off")


def share(recorded, condition):
    total = sum(recorded.values())
    return sum(count for stack, count in recorded.items() if condition(stack)) / total if total else 0.0


class Recordings(case.Case):
    def test_busyloop(self):
        target = self.start("busyloop.py")
        recorded, _ = profiler.record(target.pid, 1, *(() if self.interpreter.is_free_threaded else ("--gil",)), *FAST)
        self.assertGreater(sum(recorded.values()), 50)
        self.assertGreaterEqual(share(recorded, lambda stack: stack[-1].plain == "busy_loop"), 0.95)

    def test_gil_only_where_there_is_none(self):
        if not self.interpreter.is_free_threaded:
            return
        run = profiler.Recording(self.start("busyloop.py").pid, "--duration", "1s", "--gil")
        self.addCleanup(run.remove)
        finished = run.wait()
        self.assertEqual(finished.status, 2, finished)
        self.assertIn("without a GIL", finished.errors)
        recorded, _ = profiler.record(self.start("busyloop.py", env={"PYTHON_GIL": "1"}).pid, 1, "--gil", *FAST)
        self.assertGreater(sum(recorded.values()), 50)

    def test_gil_only_leaves_sleepers_out(self):
        if self.interpreter.is_free_threaded:
            return
        target = self.start("longsleep.py")
        recorded, _ = profiler.record(target.pid, 1, "--gil", *FAST)
        self.assertLessEqual(sum(recorded.values()), 10)

    def test_idle_main_thread_is_recorded(self):
        target = self.start("longsleep.py")
        recorded, _ = profiler.record(target.pid, 1, *FAST)
        self.assertGreaterEqual(share(recorded, lambda stack: "longsleep" in stacks.plain_names(stack)), 0.95)

    def recorded_threads(self, pid, *options):
        """The names of the threads that have samples, without those that had just begun to wait."""
        run = profiler.Recording(pid, "--duration", "0.5s", *FAST, *options)
        self.addCleanup(run.remove)
        finished = run.wait()
        self.assertEqual(finished.status, 0, finished)
        weights = run.weights()
        return {name.split(" (tid")[0].rpartition(" ")[2].split("-")[0] for name, weight in weights
                if weight > max(weight for _, weight in weights) / 10}

    def start_states(self):
        """A target in which all threads that are going to wait do wait."""
        target = self.start("states.py")
        deadline = time.monotonic() + DEADLINE
        while sum(thread.raw["state"] == "idle" for thread in profiler.dump(target.pid)) < 5:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        return target

    def test_which_threads_that_wait(self):
        target = self.start_states()
        busy, idle = {"busy"}, {"sleeping", "polling", "reading", "locked"}
        for options, threads in (((), busy | {"MainThread"}), (("--idle", "main"), busy | {"MainThread"}),
                                 (("--idle", "none"), busy), (("--idle", "all"), busy | idle | {"MainThread"}),
                                 (("--idle",), busy | idle | {"MainThread"})):
            with self.subTest(options):
                self.assertEqual(self.recorded_threads(target.pid, *options), threads)

    def test_chosen_threads(self):
        target = self.start_states()
        tids = {thread.name.split("-")[0]: thread.tid for thread in profiler.dump(target.pid)}
        for names in (["busy"], ["busy", "MainThread"]):
            chosen = ",".join(str(tids[name]) for name in names)
            self.assertEqual(self.recorded_threads(target.pid, "--threads", chosen), set(names))

    def turns_seen(self, target):
        """(turns that the target took, turns that the samples show)"""
        run = profiler.Recording(target.pid, "--duration", "1s", "--rate", "5khz", "--max-overhead", "off")
        self.addCleanup(run.remove)
        run.begun()
        target.tell("clock")
        before = int(target.expect("clock").text.split()[1])
        finished = run.wait()
        self.assertEqual(finished.status, 0, finished)
        target.tell("clock")
        turns = int(target.expect("clock").text.split()[1]) - before
        sides = [name for stack in run.sequences()[0] for name in stack if name in ("even", "odd")]
        return turns, sum(earlier != later for earlier, later in zip(sides, sides[1:]))

    def test_samples_are_fresh(self):
        """Every sample was read anew, not copied from the one before. With five samples in each turn, few turns are
        missed."""
        target = self.start("alternator.py")
        attempts = [self.turns_seen(target) for _ in range(3)]  # a busy machine may keep us from sampling for a while
        shares = sorted(seen / max(1, turns) for turns, seen in attempts)
        self.assertGreater(shares[1], 0.3, f"(turns, seen): {attempts}")

    def test_recursion(self):
        target = self.start("recursive.py")
        recorded, _ = profiler.record(target.pid, 1, *FAST)
        self.assertGreater(sum(recorded.values()), 50)
        for stack in recorded:
            self.assertLessEqual(len(stack), 23, stack)
            if not stacks.is_truncated(stack):
                self.assertEqual(stack[0].plain, "<module>", stack)

    def test_thread_churn(self):
        target = self.start("thread_churn.py")
        recorded, _ = profiler.record(target.pid, 2, "--idle", "all", *FAST)
        tally = grammar.Tally(grammar.Grammar(TARGETS / "thread_churn.py"))
        for stack, count in recorded.items():
            tally.add(stack, count)
        self.assertEqual(tally.impossible, 0, tally)
        self.assertGreater(tally.total, 50)
        self.assertUnharmed(target.pid)

    def test_a_thread_is_one_track_however_many_it_begins(self):
        target = self.start("thread_churn.py")
        run = profiler.Recording(target.pid, "--duration", "2s", "--idle", "all", *FAST)
        self.addCleanup(run.remove)
        self.assertEqual(run.wait().status, 0)
        names = run.threads()
        self.assertEqual([name for name in names if f"(tid {target.pid})" in name], [f"MainThread (tid {target.pid})"])
        self.assertEqual([name for name in names if "(tid 0)" in name], [])

    def test_fork_churn(self):
        target = self.start("fork_churn.py", 0)
        recorded, _ = profiler.record(target.pid, 2, *FAST)
        self.assertGreater(share(recorded, lambda stack: "main" in stacks.plain_names(stack)), 0)
        self.assertUnharmed(target.pid)

    def test_more_processes_than_are_followed(self):
        target = self.start("many_processes.py", 300)
        recorded, finished = profiler.record(target.pid, 3, "--rate", "50hz", "--max-overhead", "off")
        self.assertIn("has too many descendants: at most 256 at once", finished.errors)
        self.assertGreater(sum(recorded.values()), 0)
        self.assertUnharmed(target.pid)
        target.tell("end")
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_exec_is_followed(self):
        target = self.start("exec_churn.py", 5, 1)
        run = profiler.Recording(target.pid, *FAST)
        self.addCleanup(run.remove)
        run.begun()
        target.tell("go")
        self.assertEqual(target.wait(), 0, target.stderr())
        self.assertEqual(target.stdout(), "last image ended well\n")
        finished = run.wait()
        self.assertEqual(finished.status, 0, finished)
        self.assertTrue(any("main" in stacks.plain_names(stack) for stack in run.stacks()))

    def recorded_lives(self, *options):
        target = self.start("reincarnation.py")
        run = profiler.Recording(target.pid, *FAST, *options)
        self.addCleanup(run.remove)
        run.shows("early_inner")
        target.tell("go")
        target.expect("later")
        run.shows("later_inner")
        run.interrupt()
        finished = run.wait()
        self.assertEqual(finished.status, 0, finished)
        self.assertIn(b"replaced itself by another program (exec)", run.trace.read_bytes())
        return run

    def test_exec_of_the_same_program(self):
        """No sample mixes the program before exec and the one after, although both use the same addresses."""
        for options in ((), ("--blocking",)):
            with self.subTest(options=options):
                lives = [[{name.split("_")[0] for name in stack} & {"early", "later"} for stack in sequence]
                         for sequence in self.recorded_lives(*options).sequences()]
                self.assertTrue(all(len(life) <= 1 for sequence in lives for life in sequence), lives)
                for sequence in lives:
                    told = ["".join(life) for life in sequence if life]
                    self.assertEqual(told, sorted(told), "early, then later")


if __name__ == "__main__":
    case.main()

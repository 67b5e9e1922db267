"""A profiled process does what it would have done: same output, same exit status, never left traced or stopped."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402

ROUNDS = "3000"


class Unharmed(case.Case):
    def undisturbed(self):
        target = self.start("work.py", ROUNDS)
        self.assertEqual(target.wait(), 0)
        return target.stdout()

    def check(self, *options):
        wanted = self.undisturbed()
        target = self.start("work.py", ROUNDS)
        run = profiler.Recording(target.pid, *options)
        self.addCleanup(run.remove)
        self.assertEqual(target.wait(), 0, target.stderr())
        self.assertEqual(target.stdout(), wanted)
        finished = run.wait()
        self.assertEqual(finished.status, 0, finished)  # an earlier end of the target is no failure

    def test_fast(self):
        self.check("--rate", "10khz", "--max-overhead", "off")

    def test_blocking(self):
        self.check("--rate", "1khz", "--blocking", "--max-overhead", "off")

    def test_who_waits_for_events_goes_on_waiting(self):
        target = self.start("waits_among_hands.py")
        time.sleep(0.3)  # until it waits
        self.assertGreater(sum(profiler.record(target.pid, 1, "--rate", "1khz", "--max-stopped", "off")[0].values()), 100)
        target.tell("count")
        self.assertEqual(target.expect("count").text, "count 0")

    def test_repeated_dumps(self):
        wanted = self.undisturbed()
        target = self.start("work.py", ROUNDS)
        while target.alive():
            profiler.run("dump", "--pid", target.pid)
        self.assertEqual(target.wait(), 0)
        self.assertEqual(target.stdout(), wanted)

    def test_free_after_interrupt(self):
        target = self.start("heartbeat.py")
        run = profiler.Recording(target.pid, "--rate", "2khz")
        self.addCleanup(run.remove)
        run.begun()
        for _ in range(20):
            target.tell("ping")
            target.expect("pong")
        run.interrupt()
        finished = run.wait()
        self.assertEqual(finished.status, 0, finished)
        self.assertTrue(run.stacks())
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0)
        self.assertEqual(target.stdout(), "ended well with 3 threads\n")


if __name__ == "__main__":
    case.main()

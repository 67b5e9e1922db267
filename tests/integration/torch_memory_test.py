"""What PyTorch allocates and frees, recorded from outside: compared with what PyTorch's own profiler adds up."""
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.torch_job import STEPS, TorchCase  # noqa: E402

MEMORY = ("--profile-memory",)
# In ten steps, from torch.profiler of 1.13, and of 2.1 and later: events of memory, and bytes allocated.
EVENTS = {True: 6080, False: 5120}
ALLOCATED = 29105320
PARAMETERS = 540456  # bytes
FLOATS = 12345
BYTES = 4 * FLOATS


def sizes(trace):
    return [one["args"]["Bytes"] for one in trace.memory]


class Compared(TorchCase):
    def table(self, trace):
        return {row["name"]: (row["count"], row["cpu_memory"], row["self_cpu_memory"]) for row in trace.rows()}

    def assertIsTheTable(self, trace, expected):
        """`expected`: what PyTorch's own profiler says, several times. Up to 2.6 it assigns by microseconds, so the
        own memory of each name differs each time."""
        table = self.table(trace)
        self.assertEqual(table["aten::sqrt"][1], STEPS * PARAMETERS)  # one result for each parameter
        if self.is_precise:
            self.assertEqual(table, expected[0])
            return
        for name in ("aten::mm", "aten::addmm"):
            self.assertIn(table[name][:2], [one[name][:2] for one in expected], name)

    def test_each_operators_memory(self):
        expected = [self.averages(STEPS)]
        if not self.is_precise:
            expected += [self.averages(STEPS) for _ in range(3)]
        for options in (MEMORY, ("--mode", "trace", *MEMORY)):
            with self.subTest(options):
                trace = self.record("steps", STEPS, options=options)
                self.assertIsTheTable(trace, expected)
                self.assertEqual(len(trace.memory), EVENTS[self.torch < (2,)])
                if self.torch >= (2,):
                    self.assertEqual(sum(size for size in sizes(trace) if size > 0), ALLOCATED)
        rows = self.table(trace)
        self.assertEqual([f"{rows[name][2] / 2**20:.2f}" for name in ("aten::mm", "aten::addmm")], ["8.38", "3.31"])
        self.assertFinishes()

    def test_beside_the_jobs_own_profiler(self):
        first = self.averages(STEPS)
        alone = self.averages(STEPS)  # it knows all blocks now
        recording = self.recording(*MEMORY)
        beside = self.averages(STEPS)
        trace = self.end(recording)
        if self.is_precise:
            self.assertEqual(beside, alone)
        self.assertIsTheTable(trace, [first] if self.is_precise else [first, alone, beside])
        self.assertFinishes()


class Blocks(TorchCase):
    shares = True

    def library(self):
        """What is mapped of PyTorch's core library, and with which access; and where each slot is through which it reports
        CPU memory."""
        lines = [line.split() for line in pathlib.Path(f"/proc/{self.target.pid}/maps").read_text().splitlines()
                 if "/libc10.so" in line]
        base = int(lines[0][0].split("-")[0], 16)
        relocations = subprocess.run(["readelf", "-rW", lines[0][5]], capture_output=True, text=True, check=True)
        slots = re.findall(r"^(\w+) .* _ZN3c1025ProfiledCPUMemoryReporter(?:3New|6Delete)E", relocations.stdout, re.M)
        return [line[:2] for line in lines], [base + int(slot, 16) for slot in slots]

    def slots(self):
        """What they hold."""
        with open(f"/proc/{self.target.pid}/mem", "rb") as memory:
            return [os.pread(memory.fileno(), 8, slot) for slot in self.library()[1]]

    def test_all_threads(self):
        trace = self.record("threads", STEPS, 3, options=MEMORY)
        by_thread = collections.Counter(one["tid"] for one in trace.memory)
        self.assertEqual(len(by_thread), 4, by_thread)  # with the main thread, which makes the models
        # The threads leave nothing behind, and each free is that of a block that was allocated before.
        self.assertEqual(sum(sizes(trace)), 0)
        self.assertNotIn("older blocks", trace.said)
        held = collections.Counter()
        for one in sorted(trace.memory, key=lambda one: one["ts"]):
            held[one["args"]["Addr"]] += one["args"]["Bytes"]
            self.assertGreaterEqual(held[one["args"]["Addr"]], 0)
        self.assertFinishes()

    def test_what_was_there_before(self):
        self.ask("hold", FLOATS)
        recording = self.recording(*MEMORY)
        self.ask("drop")
        self.ask("hold", FLOATS)
        self.ask("drop")
        self.ask("hold", FLOATS)
        trace = self.end(recording)
        self.assertEqual(sizes(trace), [BYTES, -BYTES, BYTES])
        self.assertEqual([one["args"]["Total Allocated"] for one in trace.memory], [BYTES, 0, BYTES])
        self.assertIn(", 3 allocations and frees, 1 free of older blocks (not shown)", trace.said)
        self.assertFinishes()

    def test_memory_between_processes(self):
        trace = self.record("shared", FLOATS, options=MEMORY)
        self.assertEqual(sum(sizes(trace)), 0, trace.memory)
        self.assertGreaterEqual(sizes(trace).count(BYTES), 2)  # its own, and the shared one
        held = 0
        for one in trace.memory:
            held += one["args"]["Bytes"]
            self.assertEqual(one["args"]["Total Allocated"], held)
        self.assertFinishes()

    def test_leaves_nothing(self):
        self.ask("steps", 1)  # now these functions have been called once
        before, access = self.slots(), self.library()
        self.assertEqual(len(before), 2)
        recording = self.recording(*MEMORY)
        self.assertEqual([one == other for one, other in zip(self.slots(), before)], [False, False])
        self.ask("steps", 1)
        self.end(recording)
        self.ask("steps", 1)  # it leaves at an operator
        self.assertEqual((self.slots(), self.library()), (before, access))
        self.assertFinishes()

    def test_a_child_is_not_recorded(self):
        recording = self.recording(*MEMORY)
        self.assertEqual(self.ask("forked", STEPS), "0")
        trace = self.end(recording)
        self.assertEqual(sizes(trace), [])
        self.assertFinishes()

    def test_a_child_that_was_made_meanwhile_is_recorded_later(self):
        if self.root:
            self.skipTest("its number is another one here")
        recording = self.recording(*MEMORY)
        child = int(self.ask("child"))
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.end(recording)
        later = profiler.Recording(child, *MEMORY, "--duration", "500ms")
        self.addCleanup(later.remove)
        finished = later.wait()
        self.assertEqual(finished.status, 0, finished)
        self.assertNotIn("is not recorded", finished.errors)
        self.assertRegex(finished.errors, r"operators of PyTorch, [\d,]{3,} allocations and frees")
        self.assertUnharmed(child)
        self.assertFinishes()

    def test_needs_the_hook(self):
        finished = profiler.run("record", "--pid", self.target.pid, "--torch", "off", *MEMORY, "--duration", "1s")
        self.assertEqual(finished.status, 2)
        self.assertIn("--profile-memory records the memory of PyTorch, but --torch off brings no hook in", finished.errors)
        self.assertFinishes()


if __name__ == "__main__":
    case.main()

"""What PyTorch allocates and frees, recorded from outside: compared with what PyTorch's own profiler adds up."""
import collections
import hashlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.torch_job import STEPS, TorchCase  # noqa: E402

MEMORY = ("--profile-memory",)
# In ten steps, from torch.profiler of 1.13, and of 2.14 and later: events of memory, and bytes allocated.
EVENTS = {"3.11": 6080, "3.14": 5120}
ALLOCATED = 29105320
PARAMETERS = 540456  # bytes
FLOATS = 12345
BYTES = 4 * FLOATS


def sizes(trace):
    return [one["args"]["Bytes"] for one in trace.memory]


class Memory(TorchCase):
    def tables(self):
        """Digests of what PyTorch's libraries in the target hold that is not to be written: also their tables of
        functions."""
        found = {}
        with open(f"/proc/{self.target.pid}/mem", "rb") as memory:
            for line in pathlib.Path(f"/proc/{self.target.pid}/maps").read_text().splitlines():
                place, access = line.split()[:2]
                if access != "r--p" or not any(
                        name in line for name in ("/libc10.so", "/libtorch_cpu.so")):
                    continue
                begin, end = (int(part, 16) for part in place.split("-"))
                if end - begin <= 2 << 20:
                    memory.seek(begin)
                    found[place] = hashlib.sha256(memory.read(end - begin)).hexdigest()
        return found

    def table(self, trace):
        return {row["name"]: (row["count"], row["cpu_memory"], row["self_cpu_memory"]) for row in trace.rows()}

    def assertIsTheTable(self, trace, expected):
        """`expected`: what PyTorch's own profiler says, several times. That of 1.13 assigns by microseconds, so the
        own memory of each name differs each time."""
        table = self.table(trace)
        self.assertEqual(table["aten::sqrt"][1], STEPS * PARAMETERS)  # one result for each parameter
        if self.minor != "3.11":
            self.assertEqual(table, expected[0])
            return
        for name in ("aten::mm", "aten::addmm"):
            self.assertIn(table[name][:2], [one[name][:2] for one in expected], name)

    def test_each_operators_memory(self):
        expected = [self.averages(STEPS)]
        if self.minor == "3.11":
            expected += [self.averages(STEPS) for _ in range(3)]
        for options in (MEMORY, ("--mode", "trace", *MEMORY)):
            with self.subTest(options):
                trace = self.record("steps", STEPS, options=options)
                self.assertIsTheTable(trace, expected)
                self.assertEqual(len(trace.memory), EVENTS[self.minor])
                if self.minor != "3.11":
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
        if self.minor != "3.11":
            self.assertEqual(beside, alone)
        self.assertIsTheTable(trace, [first] if self.minor != "3.11" else [first, alone, beside])
        self.assertFinishes()

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
        self.assertFinishes()

    def test_leaves_nothing(self):
        self.ask("steps", 1)
        self.ask("shared", 1)  # all functions have been called once
        before = self.tables()
        self.assertGreater(len(before), 1)
        recording = self.recording(*MEMORY)
        self.assertNotEqual(self.tables(), before)
        self.ask("steps", 1)
        self.end(recording)
        self.ask("steps", 1)  # it leaves at an operator
        self.assertEqual(self.tables(), before)
        self.assertFinishes()

    def test_a_child_is_not_recorded(self):
        recording = self.recording(*MEMORY)
        self.assertEqual(self.ask("forked", STEPS), "0")
        trace = self.end(recording)
        self.assertEqual(sizes(trace), [])
        self.assertFinishes()

    def test_needs_the_hook(self):
        finished = profiler.run("record", "--pid", self.target.pid, "--torch", "off", *MEMORY, "--duration", "1s")
        self.assertEqual(finished.status, 2)
        self.assertIn("--profile-memory records the memory of PyTorch, but --torch off brings no hook in", finished.errors)
        self.assertFinishes()


if __name__ == "__main__":
    case.main()

"""What PyTorch's memory was for, recorded from outside: compared with the memory timeline of PyTorch's own profiler, and
with what the job must hold."""
import collections
import gzip
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.torch_job import STEPS, TorchCase  # noqa: E402

RECORDED = ("--profile-memory", "--record-shapes")
CATEGORIES = ("parameter", "optimizer state", "input", "temporary", "activation", "gradient", "autograd detail", None)
PREEXISTING, CREATE, DESTROY = 1, 2, 4
PARAMETERS = 540456  # bytes; as large as all gradients
STATE = 2 * PARAMETERS + 20 * 4  # two tensors like each parameter, and its step
DATA = 64 * 32 * 4 + 64 * 8
# In ten steps: blocks that forward operators made and kept, from torch.profiler of 2.14 and 2.15; and backward ones, in
# 1.13 and later.
ACTIVATIONS, DETAILS = 220, {True: 190, False: 150}


def blocks(events, action, *categories):
    """The sizes of those that appear, or go."""
    return collections.Counter(size for _, what, size, category in events
                               if what == action and (not categories or CATEGORIES[category] in categories))


class Timeline(TorchCase):
    shares = True

    def export(self, trace, ending):
        out = trace.path.with_suffix(ending)
        said = profiler.must("export", trace.path, "--format", "memory-timeline", "-o", out).errors
        content = out.read_bytes()
        out.unlink()
        return content, said

    def events(self, trace):
        return json.loads(self.export(trace, ".raw.json")[0])

    def test_as_torchs_own(self):
        if self.torch < (2, 14):
            self.skipTest("its own memory timeline ends the job, or does not exist")
        recording = self.recording(*RECORDED)
        own = self.read("timeline", STEPS)
        events = self.events(self.end(recording))
        self.assertEqual(blocks(events, CREATE), blocks(own, CREATE))
        self.assertEqual(blocks(events, CREATE, "gradient"), blocks(own, CREATE, "gradient"))
        self.assertEqual(blocks(events, CREATE, "autograd detail"), blocks(own, CREATE, "autograd detail"))
        for category in ("parameter", "optimizer state", "input"):
            self.assertEqual(blocks(events, PREEXISTING, category), blocks(own, PREEXISTING, category), category)
        # It calls some results of the optimizer activations, inputs, or parameters: there they are temporary.
        self.assertLessEqual(blocks(events, CREATE, "activation"), blocks(own, CREATE, "activation"))
        self.assertLessEqual(blocks(own, CREATE, "temporary"), blocks(events, CREATE, "temporary"))

    def test_what_each_block_is_for(self):
        for options in (RECORDED, ("--mode", "trace", *RECORDED)):
            with self.subTest(options):
                trace = self.record("steps", STEPS, options=options)
                events = self.events(trace)
                there = {one: sum(size * count for size, count in blocks(events, PREEXISTING, one).items())
                         for one in CATEGORIES}
                self.assertEqual((there["parameter"], there["optimizer state"], there["input"]), (PARAMETERS, STATE, DATA))
                made = blocks(events, CREATE, "gradient")
                self.assertEqual(sum(size * count for size, count in made.items()), STEPS * PARAMETERS)
                self.assertEqual(sum(blocks(events, CREATE, "activation").values()), ACTIVATIONS)
                self.assertEqual(sum(blocks(events, CREATE, "autograd detail").values()), DETAILS[self.torch < (2,)])
                unknown = blocks(events, CREATE, None)
                if self.torch < (2,):
                    self.assertLess(max(unknown), 300)  # 1.13 also allocates for numbers of the loss
                else:
                    self.assertEqual(unknown, {}, "each block has a category")
        self.assertFinishes()

    def test_the_forms(self):
        trace = self.record("steps", STEPS, options=("--mode", "trace", *RECORDED))
        events = self.events(trace)
        self.assertEqual(json.loads(gzip.decompress(self.export(trace, ".raw.json.gz")[0])), events)
        times, sizes = json.loads(self.export(trace, ".json")[0])
        self.assertEqual([times, sizes], json.loads(gzip.decompress(self.export(trace, ".json.gz")[0])))
        self.assertEqual(times, sorted(times))
        self.assertEqual({len(row) for row in sizes}, {1 + len(CATEGORIES)})
        # In the end there is what the job holds.
        total = collections.Counter()
        for _, _, size, category in events:
            total[CATEGORIES[category]] += size
        self.assertEqual(dict(zip(CATEGORIES, sizes[-1][1:])), {one: total[one] for one in CATEGORIES})
        self.assertEqual([total[one] for one in ("parameter", "optimizer state", "gradient")],
                         [PARAMETERS, STATE, PARAMETERS])
        page = self.export(trace, ".html")[0].decode()
        for text in ("<svg", "optimizer state, at most 1.03 MB", "parameter: layers.3.fc2.weight", "torch_mlp.py(",
                     "AddmmBackward0", "At the peak, by operator"):
            self.assertIn(text, page)
        self.assertNotIn("<script", page)
        self.assertNotIn("http", page.replace("http-equiv", ""))

    def test_the_tensors_that_are_held(self):
        trace = self.record("steps", STEPS, options=("--profile-memory",))
        rows = json.loads(profiler.must("table", trace.path, "--tensors", "--format", "json", "--row-limit", 0).output)["rows"]
        found = collections.Counter((row["role"], row["bytes"]) for row in rows)
        self.assertEqual(sum(size * count for (role, size), count in found.items() if role == "parameter"), PARAMETERS)
        self.assertEqual(sum(size * count for (role, size), count in found.items() if role == "optimizer_state"), STATE)
        by_name = {(row["role"], row["name"]): row for row in rows}
        weight = by_name["parameter", "layers.2.fc1.weight"]
        self.assertEqual([weight[one] for one in ("of", "type", "sizes", "device", "bytes")],
                         ["Net", "float32", "[256, 64]", "cpu", 65536])
        # Names, addresses, types and sizes are those that the job itself sees.
        own = {name: (kind, sizes, hex(address)) for name, kind, sizes, address in self.read("parameters")}
        self.assertEqual({row["name"]: (f"torch.{row['type']}", json.loads(row["sizes"]), row["address"])
                          for row in rows if row["role"] == "parameter"}, own)
        state = by_name["optimizer_state", "head.bias exp_avg_sq"]
        self.assertEqual([state[one] for one in ("of", "sizes")], ["Adam", "[10]"])
        text = profiler.must("table", trace.path, "--tensors", "--row-limit", 3).output
        self.assertIn("parameter: 527.79 KB in 20 tensors\n", text)
        self.assertRegex(text, r"\n\d+ more rows: --row-limit shows them\.\n$")
        lines = profiler.must("table", trace.path, "--tensors", "--format", "csv", "--row-limit", 0).output.splitlines()
        self.assertEqual((lines[0], len(lines)), ("role,name,of,type,sizes,device,bytes,address", 1 + len(rows)))

    def test_without_shapes_only_what_is_held_is_known(self):
        trace = self.record("steps", STEPS, options=("--profile-memory",))
        content, said = self.export(trace, ".raw.json")
        self.assertIn("record with --record-shapes", said)
        there = blocks(json.loads(content), PREEXISTING, "parameter")
        self.assertEqual(sum(size * count for size, count in there.items()), PARAMETERS)

    def test_a_trace_without_memory(self):
        trace = self.record("steps", 1, options=("--torch", "on"))
        content, said = self.export(trace, ".html")
        self.assertIn("record with --profile-memory --record-shapes", said)
        self.assertIn(b"No allocation was recorded", content)


if __name__ == "__main__":
    case.main()

"""Names in exact traces of code that is freed while it is traced. Every call has its own name, or is marked as
nameless."""
import contextlib
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402

LOOPS = 2000


class TraceNames(case.Case):
    @contextlib.contextmanager
    def recording(self, target, *options):
        run = profiler.Recording(target.pid, "--mode", "trace", "-d", "1h", "--buffer", "256M", *options)
        self.addCleanup(run.remove)
        run.shows("goes_round")
        if run.process.poll() is not None:
            self.fail(str(run.wait()))
        yield run

    def traced(self, target, word, *options):
        """The slices of one window in Chrome's JSON, in the order in which they began: (finished, slices)."""
        with self.recording(target, *options) as run:
            target.tell(word)
            target.expect("ran")
            run.interrupt()
            finished = run.wait()
        self.assertEqual(finished.status, 0, str(finished))
        self.assertRegex(finished.errors, r"\n +lost 0, returns without a call 0\n")
        document = json.loads(profiler.must("export", run.trace, "--format", "chrome", "-o", "-").output)
        slices = [event for event in document["traceEvents"] if "Python id" in event.get("args", {})]
        return finished, sorted(slices, key=lambda event: event["args"]["Python id"])

    def test_code_whose_address_is_used_again(self):
        target = self.start("names.py")
        _, slices = self.traced(target, "freed_code")
        by_id = {one["args"]["Python id"]: one for one in slices}
        made = [re.search(r"\((\d+)\): fn_(\d+)$", one["name"]) for one in slices]
        made = [(int(found[1]), int(found[2])) for found in made if found]
        same = [int(found[1]) for found in (re.search(r"\(1\): same_(\d+)$", one["name"]) for one in slices) if found]
        gone = [one for one in slices if one["name"] == "[code that is gone]"]
        print(f"{self.interpreter}: {len(made)} and {len(same)} of {LOOPS} named, "
              f"{sum(pair != (number % 500 + 1, number % 500) for number, pair in enumerate(made))} wrong, {len(gone)} gone")
        self.assertEqual(gone, [])
        self.assertEqual(made, [(number % 500 + 1, number % 500) for number in range(LOOPS)])
        self.assertEqual(same, [number % 7 for number in range(LOOPS)])
        for one in slices:
            self.assertEqual(one["cat"], "python_function", one["name"])
            parent = by_id.get(one["args"]["Python parent id"])
            if ": fn_" in one["name"]:
                self.assertRegex(parent["name"], ": make$")
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))

    def test_what_is_thrown_through_a_generator_to_one_that_returns(self):
        target = self.start("names.py")
        _, slices = self.traced(target, "throws")  # fails on unmatched ends
        names = {one["args"]["Python id"]: re.sub(r"^.*: ", "", one["name"]) for one in slices}
        parents = [names[one["args"]["Python parent id"]] for one in slices if one["name"].endswith(": after")]
        self.assertEqual(parents, ["waits_for"] * 3)
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))

    def test_what_is_called_and_is_not_python_code(self):
        target = self.start("names.py")
        _, slices = self.traced(target, "c_calls", "--c-calls")
        by_id = {one["args"]["Python id"]: one for one in slices}
        called = {}
        for one in slices:
            found = re.search(r": (of_\w+)$", by_id.get(one["args"]["Python parent id"], {"name": ""})["name"])
            if found:
                name = re.sub(r"^<built-in function (.*)>$", r"\1", one["name"])
                called.setdefault(found[1], []).append(re.sub(r"^.*\(\d+\): (\w+\.)*", "", name))
        inner = [re.sub(r"^<built-in function (.*)>$", r"\1", one["name"]) for one in slices
                 if re.search(r": (Mapped|Listed)?\.?__\w+__$", by_id.get(one["args"]["Python parent id"], {"name": ""})["name"])]
        sees_all = self.interpreter.numbers >= (3, 12)
        print(f"{self.interpreter}: { {word: names[:9] for word, names in called.items()} }, {sorted(set(inner))}")
        self.assertLessEqual(set(inner), {"super", "list.__init__", "dict.__getitem__", "dict.__len__"})
        self.assertIn("dict.__getitem__", inner)
        self.assertEqual(called["of_super"].count("dict.__getitem__"), 2)
        short = called["of_the_short_lived"]
        self.assertEqual(short.count("list.append"), 2 * LOOPS)
        if sees_all:
            self.assertLessEqual({"super", "list.__init__", "dict.__len__"}, set(inner))
            self.assertEqual(short, [name for number in range(LOOPS) for name in (
                "type", f"Short_{number % 7}", "functools.partial", "functools.partial.__call__", "list.append",
                "list.append")])
            self.assertEqual(called["of_instances"], ["Called", "Called.__call__", "functools.lru_cache(c_calls.<locals>.<lambda>)"])
        else:
            self.assertEqual(set(short), {"list.append"})
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))


if __name__ == "__main__":
    case.main()

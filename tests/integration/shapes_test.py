"""The shapes that readers of Python must handle, by `dump`: names, generators, coroutines, depth, subinterpreters…"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler, stacks  # noqa: E402
from support.marks import line_of  # noqa: E402
from support.target_process import status_fields  # noqa: E402


class Shapes(case.Case):
    def plain(self, stack):
        return [(frame.plain, frame.line) for frame in stack]

    def main_stack(self, target):
        threads = [thread for thread in profiler.dump(target.pid) if thread.raw["main"]]
        self.assertEqual(len(threads), 1)
        return threads[0].stack

    def marked(self, script, *pairs):
        return [(name, line_of(script, mark)) for name, mark in pairs]

    def ends_well(self, target):
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0, target.stderr())

    def test_longsleep(self):
        target = self.start_waiting("longsleep.py")
        stack = self.plain(self.main_stack(target))
        self.assertEqual(stack[:3], self.marked("longsleep.py", ("<module>", "main"), ("main", "call"), ("longsleep", "wait")))
        self.ends_well(target)
        self.assertEqual(target.stdout(), "longsleep ended well\n")

    def test_unicode(self):
        script = "кириллица.py"
        target = self.start_waiting(script)
        stack = self.stack_of(profiler.dump(target.pid), "нить-😀")
        wanted = self.marked(script, ("start", "start"), ("метод", "метод"), ("naïve", "naïve"), ("кириллица", "wait"))
        ours = [frame for frame in stack if frame.file.endswith(script)]
        self.assertEqual(self.plain(ours), wanted)
        self.ends_well(target)

    def test_negative_lines(self):
        target = self.start_waiting("negative_lines.py")
        stack = self.plain(self.main_stack(target))
        self.assertIn(line_of("negative_lines.py", "element"), [line for _, line in stack])
        self.ends_well(target)

    def test_huge_module(self):
        target = self.start_waiting("huge_module.py")
        _, line, size = target.expect("line").text.split()
        self.assertGreater(int(size), 1 << 20)
        frames = self.plain(self.main_stack(target))
        self.assertIn(("<module>", int(line)), frames)
        self.ends_well(target)

    def test_thread_names(self):
        target = self.start_waiting("thread_names.py")
        names = {f"CustomThreadName-{number}" for number in range(10)} | {"MainThread"}
        self.assertEqual({thread.name for thread in profiler.dump(target.pid)}, names)
        target.tell("rename")
        target.expect("renamed")
        names = names - {"CustomThreadName-0"} | {"Renamed"}
        self.assertEqual({thread.name for thread in profiler.dump(target.pid)}, names)
        self.ends_well(target)

    def test_qualified_names(self):
        target = self.start_waiting("qualnames.py")
        threads = profiler.dump(target.pid)
        wanted = {"foo": "Foo.run", "bar": "Bar.Inner.run", "nested": "factory.<locals>.run"}
        for thread, name in wanted.items():
            names = [frame.name for frame in self.stack_of(threads, thread)]
            self.assertIn(name if self.interpreter.numbers >= (3, 11) else "run", names)
        self.ends_well(target)

    def test_generators(self):
        script = "generators.py"
        target = self.start_waiting(script)
        wanted = self.marked(script, ("<module>", "main"), ("consume", "consume"), ("outer", "outer"), ("middle", "middle"),
                             ("leaf", "wait"))
        stack = [frame for frame in self.plain(self.main_stack(target)) if frame[0] not in ("<listcomp>", "hear")]
        self.assertEqual(stack, wanted)
        self.ends_well(target)

    def test_coroutines(self):
        script = "coroutines.py"
        target = self.start_waiting(script)
        stack = [frame for frame in self.main_stack(target) if frame.file.endswith(script)]
        wanted = self.marked(script, ("<module>", "main"), ("top", "top"), ("middle", "middle"), ("numbers", "numbers"),
                             ("leaf", "wait"))
        self.assertEqual(self.plain(stack), wanted)
        self.ends_well(target)

    def test_exceptions(self):
        script = "exceptions.py"
        target = self.start_waiting(script)
        stack = [frame for frame in self.plain(self.main_stack(target)) if frame[0] not in ("hear", "<module>")]
        self.assertEqual(stack[1:], self.marked(script, ("__exit__", "exit"), ("__del__", "del"), ("handler", "wait")))
        self.assertEqual(stack[0][0], "main")
        self.ends_well(target)

    def test_depths(self):
        deepest = 50000 if self.interpreter.numbers >= (3, 11) else 5000
        for depth in (1200, deepest):
            with self.subTest(depth=depth):
                target = self.start_waiting("deep.py", depth)
                stack = self.stack_of(profiler.dump(target.pid), "deep")
                descents = sum(frame.plain == "descend" for frame in stack)
                if depth < 4000:
                    self.assertEqual(descents, depth)
                    self.assertFalse(stacks.is_truncated(stack))
                else:
                    self.assertTrue(stacks.is_truncated(stack))
                    self.assertGreater(descents, 4000)
                    self.assertLessEqual(descents, 4096)
                    self.assertEqual(stack[-1].plain, "hear")  # the leaf's end is kept
                self.ends_well(target)

    def check_subinterpreters(self, kind):
        target = self.start_waiting("subinterpreters.py", kind)
        answer = target.hear().text
        if answer.startswith("unsupported"):
            print(f"CPython {self.interpreter}: {kind} subinterpreters: {answer}")
            return
        threads = profiler.dump(target.pid)
        waiting = {thread.stack[-1].plain: thread for thread in threads if thread.stack}
        self.assertEqual({"sub_wait_0", "sub_wait_1", "hear"} - set(waiting), set())
        main = [thread for thread in threads if thread.raw["main"] and thread.raw["interpreter"] == 0]
        self.assertEqual(len(main), 1)
        self.assertEqual(main[0].tid, target.pid)
        self.assertIn("main_wait", stacks.plain_names(main[0].stack))
        if self.interpreter.numbers >= (3, 13):  # a state says which thread runs it: one thread, its callers below
            self.assertEqual(len(threads), 3, threads)
            for number in (0, 1):
                thread = waiting[f"sub_wait_{number}"]
                self.assertTrue(thread.name.startswith(f"sub-{number}"), thread)
                self.assertIn("Thread.run", [frame.name.split(" ")[0] for frame in thread.stack])
        else:
            for number in (0, 1):
                self.assertNotEqual(waiting[f"sub_wait_{number}"].raw["interpreter"], 0)
            self.assertNotEqual(waiting["sub_wait_0"].raw["interpreter"], waiting["sub_wait_1"].raw["interpreter"])
        self.ends_well(target)

    def test_a_thread_in_a_subinterpreter_is_one_thread(self):
        for way in ((), ("--blocking",), ("--nonblocking",)):
            target = self.start("goes_into_subinterpreter.py")
            counts, run = profiler.record(target.pid, 2, *way)
            inside = sum(count for stack, count in counts.items() if "inner" in stacks.plain_names(stack))
            below = sum(count for stack, count in counts.items()
                        if {"inner", "outer"} <= set(stacks.plain_names(stack)))
            waits = sum(count for stack, count in counts.items()
                        if stack[-1].name == "outer" or stack[-1].name.endswith("<lambda>"))
            self.assertGreater(inside, 10, (way, counts))
            self.assertEqual(below, inside, (way, counts))
            self.assertLess(waits, sum(counts.values()) / 8, (way, counts))
            self.assertIn("(1 process, 1 thread)", run.errors)
            self.assertEqual(len(profiler.dump(target.pid)), 1)

    def test_legacy_subinterpreters(self):
        self.check_subinterpreters("legacy")

    def test_isolated_subinterpreters(self):
        self.check_subinterpreters("isolated")

    def test_native_threads_without_frames(self):
        target = self.start_waiting("native_threads.py")
        threads = profiler.dump(target.pid)
        empty = [thread for thread in threads if not [frame for frame in thread.stack if not frame.is_marker]]
        self.assertEqual(len(empty), 3, [(thread.name, thread.stack) for thread in threads])
        self.assertEqual(self.stack_of(threads, "python-thread")[-2].plain, "wait")
        self.assertEqual(len({thread.tid for thread in threads if thread.tid > 0}), 5)
        self.ends_well(target)

    def test_double_mapping(self):
        target = self.start_waiting("double_mapping.py")
        stack = self.plain(self.main_stack(target))
        self.assertEqual(stack[:2], self.marked("double_mapping.py", ("<module>", "main"), ("wait", "wait")))
        self.ends_well(target)

    def test_process_tree(self):
        target = self.start("process_tree.py")
        roles = {}
        for _ in range(6):
            message = target.expect("process")
            roles[message.text.split()[1]] = message.pid
        threads = profiler.dump(target.pid, "--subprocesses")
        expected = {roles[role] for role in ("forked", "child", "grandchild", "execed", "parent")}
        self.assertEqual({thread.pid for thread in threads if thread.stack}, expected)
        for role in ("forked", "child", "grandchild", "execed", "parent"):
            names = [stacks.plain_names(thread.stack) for thread in threads if thread.pid == roles[role]]
            self.assertTrue(any("wait_in" in each for each in names), (role, names))
        self.assertEqual({thread.pid for thread in profiler.dump(target.pid)}, {target.pid})

    def test_locals(self):
        target = self.start_waiting("locals.py")
        main = next(thread.raw for thread in profiler.dump(target.pid, "--locals") if thread.raw["main"])
        found = {frame["function"].split(".")[-1]: {one["name"]: (one["value"], one["argument"])
                                                    for one in frame.get("locals", [])} for frame in main["frames"]}
        self.assertRegex(found["outer"].pop("inner")[0], "^<function at 0x[0-9a-f]+>$")
        self.assertEqual(found["outer"], {
            "first": ("'a\\n'", True), "second": ("2.5", True), "rest": ("(3, b'4')", True), "key": ("(True, -1)", True),
            "more": ("{'extra': {'q': 'ключ'}}", True), "cell": ("[1, 'two']", False)})
        self.assertEqual(found["inner"], {
            "argument": ("41", True), "half": ("41.5", False), "nothing": ("None", False),
            "cell": ("[1, 'two']", False), "second": ("2.5", False)})
        self.assertUnharmed(target.pid)

    def test_thread_ids(self):
        target = self.start_waiting("thread_names.py")
        for thread in profiler.dump(target.pid):
            fields = status_fields(target.pid, thread.tid)
            self.assertEqual(int(fields["NSpid"].split()[-1]), thread.raw["namespace_tid"])
            self.assertEqual(thread.raw["main"], thread.tid == target.pid)
        self.ends_well(target)


if __name__ == "__main__":
    case.main()

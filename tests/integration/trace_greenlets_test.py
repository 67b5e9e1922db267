"""Greenlets in a trace: each stretch of one has slices of its own, never below those of another greenlet. Needs
greenlet, in PTRACE_PROF_CACHE/greenlet/<minor> (`./dev setup` puts it there); without it nothing is tested."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, interpreters, profiler  # noqa: E402
from support.call_trees import CallTrees  # noqa: E402

IN_ROOT = "/opt/greenlet"
# Slices of the main greenlet are between the stretches of the others. ~: a part of a call that waits in between.
DIVE = "dives(" * 150 + "dives(to_parent~)~" + ")~" * 150
BEGIN, GOES_ON, END = "outer(inner(to_parent~)~)~", "outer(inner(to_parent~)~ inner(to_parent~)~)~", "outer(inner(to_parent~)~)~"
RUN = f"""
switches~ {BEGIN} switches~ {BEGIN} switches~ {GOES_ON} switches~ {GOES_ON} switches~ {END} switches~ {END}
switches~ throws~ catches(to_parent~)~ throws~ catches(to_parent~ handles)~
throws~ raises~ fails(to_parent~)~ raises~ fails(to_parent~)~ raises(handles)~
kills~ dies(to_parent~)~ kills~ dies(to_parent~ handles)~
kills~ drops~ dies(to_parent~)~ drops~ dies(to_parent~ handles)~
drops~ generates~ takes_steps(steps(to_parent~)~)~ generates~
takes_steps(steps(to_parent~)~ steps(inner(to_parent~)~)~)~ generates~ takes_steps(steps(inner(to_parent~)~)~ steps~)~
generates~ {"many~ brief " * 50}
many~ nests~ makes_another~ {BEGIN} makes_another(to_parent~)~ nests~
makes_another(to_parent~)~ {GOES_ON} makes_another~ {END}
nests~ deep~ {DIVE} deep~ {DIVE}
deep~ threads from_c~ sorts(calls_back calls_back to_parent~)~ from_c~ sorts(to_parent~ calls_back calls_back)~
from_c~
"""
WAITED = f"""
finished~ waits(inner(to_parent~)~ inner(to_parent~)~)~ finished~ waits(inner(to_parent~)~)~
finished~ finished~ waits(inner(to_parent~)~ inner(to_parent~)~)~ finished~ waits(inner(to_parent~)~)~
finished~
"""
IN_A_THREAD = f"in_a_thread~ {BEGIN} in_a_thread~ {GOES_ON} in_a_thread~ {END} in_a_thread~"


class TraceGreenlets(case.Case):
    def begin(self, *arguments):
        minor = self.interpreter.minor.rstrip("t")
        packages = interpreters.CACHE / "greenlet" / minor
        if not packages.exists():
            self.skipTest(f"no greenlet in {packages}")
        where = IN_ROOT if self.interpreter.in_root else packages
        return self.start("greenlets.py", where, *arguments, folders={IN_ROOT: packages})

    def traced(self, target, *options):
        run = profiler.Recording(target.pid, "--mode", "trace", "-d", "1h", *options)
        self.addCleanup(run.remove)
        run.shows("goes_round")
        if run.process.poll() is None:
            target.tell("run")
            target.expect("ran")
            run.interrupt()
        finished = run.wait()
        self.assertEqual(finished.status, 0, str(finished))
        self.assertIn("lost 0, returns without a call 0", finished.errors)
        return CallTrees(run.trace)

    def assertTree(self, trees, expected, leave_out=()):
        """Compares the calls of interest of each thread, in their order."""
        names = set("".join(c if c.isalnum() or c == "_" else " " for c in RUN + WAITED + IN_A_THREAD).split())

        def text(call):
            if call.name == "goes_round_elsewhere":
                return ""
            below = " ".join(filter(None, map(text, call.below)))
            if call.name not in names or call.name in leave_out:
                return below
            return call.name + (f"({below})" if below else "") + "~" * call.suspends
        self.assertNotIn("goes_round", {root.name for root in trees.roots})
        found = {}
        for root in trees.roots:
            found.setdefault(root.tid, []).append(text(root))
        found = sorted((" ".join(filter(None, lines)) for lines in found.values()), key=len)
        self.assertEqual(found, [" ".join(line.split()) for line in (IN_A_THREAD, IN_A_THREAD, expected)])

    def check(self, *options):
        target = self.begin()
        self.assertTree(self.traced(target, *options), RUN + WAITED)
        self.assertTree(self.traced(target, *options), RUN)  # with a stub that is loaded already
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "ended well\n", ""))

    def test_each_has_its_own_stack(self):
        self.check()

    def test_with_c_calls(self):
        self.check("--c-calls")

    def test_imported_in_the_window(self):
        target = self.begin("late")
        self.assertTree(self.traced(target), RUN)
        self.assertUnharmed(target.pid)


if __name__ == "__main__":
    case.main()

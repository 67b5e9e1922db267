"""Children of the process: each is recorded from its birth on, missed ones are counted, and only those that run Python.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402

CHILDREN = 6
_PROCESSES = re.compile(r"\((\d+) process")
_UNSEEN = re.compile(r"at least (\d+) child process")


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class Children(case.Case):
    def record(self, target):
        """Records until the target ends, which works from the start of the recording on: (processes, stacks, Finished).
        """
        run = profiler.Recording(target.pid, "--idle", "all")
        self.addCleanup(run.remove)
        run.begun()
        target.tell("go")
        finished = run.wait()
        self.assertEqual(finished.status, 0, finished)
        return int(_PROCESSES.search(finished.errors)[1]), run.stacks(), finished

    def test_children_one_after_another(self):
        for how in ("fork", "spawn"):
            with self.subTest(how):
                target = self.start("brief_children.py", how, CHILDREN, 0.3)
                processes, stacks, finished = self.record(target)
                self.assertEqual(processes, 1 + CHILDREN, finished)
                self.assertNotIn("child process", finished.errors)
                leaf = sum(count for stack, count in stacks.items() if stack and stack[-1].name == "leaf")
                self.assertGreater(leaf / sum(stacks.values()), 0.25, stacks)  # 0.5, less what it takes to start

    def test_children_that_nobody_can_see(self):
        target = self.start("brief_children.py", "fork", 300, 0)
        processes, _, finished = self.record(target)
        self.assertLess(processes, 301)
        self.assertRegex(finished.errors, _UNSEEN)

    def test_a_shell_is_not_python_but_what_it_started_is(self):
        if self.interpreter.in_root and not (pathlib.Path(self.interpreter.root) / "bin/sh").exists():
            self.skipTest("no shell in the root of this version")
        target = self.start("heartbeat.py", prefix=("/bin/sh", "-c", '"$@" & wait', "sh"))
        shell = parent_of(target.pid)
        refused = profiler.run("record", "--no-subprocesses", "--pid", shell, "-f", "perfetto", "-o", "/dev/null")
        self.assertEqual(refused.status, 5, refused)
        self.assertRegex(refused.errors, rf"process {shell} .* is not a Python process.*\[NOT_PYTHON\]")
        self.assertRegex(refused.errors, rf"its descendant {target.pid} \(.*\) "
                                         rf"is a Python process: use --pid {target.pid}, ")
        run = profiler.Recording(shell)
        self.addCleanup(run.remove)
        run.shows("inner")
        os.kill(target.pid, signal.SIGKILL)
        finished = run.wait()  # which ends with the shell
        self.assertEqual(finished.status, 0, finished)
        self.assertIn(f"process {shell} is not a Python process: its descendants are recorded", finished.errors)
        self.assertIn("(1 process, ", finished.errors)

    def test_nothing_below_it_is_python(self):
        with subprocess.Popen(("sh", "-c", "sleep 1000 & wait")) as shell:
            refused = profiler.run("record", "--pid", shell.pid, "-f", "perfetto", "-o", "/dev/null")
            subprocess.run(("pkill", "-P", str(shell.pid)), check=False)
        self.assertEqual(refused.status, 5, refused)
        self.assertIn("`ptrace-prof ps` lists", refused.errors)


if __name__ == "__main__":
    case.main()

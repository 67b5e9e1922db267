"""Targets in other root file systems, mount and PID namespaces, read from the host."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, interpreters, profiler, stacks  # noqa: E402
from support.target_process import status_fields  # noqa: E402


class Containers(case.Case):
    @classmethod
    def setUpClass(cls):
        cls.interpreters = [one for one in interpreters.discover() if one.in_root]

    def setUp(self):
        if not self.interpreters:
            self.skipTest("no root file system was unpacked here (./dev setup), or we are not root")

    def for_each(self, check, script, *arguments):
        for interpreter in self.interpreters:
            with self.subTest(str(interpreter)):
                check(self.start(script, *arguments, interpreter=interpreter))

    def check_ids(self, target):
        threads = profiler.dump(target.pid)
        self.assertEqual(len(threads), 11)
        for thread in threads:
            self.assertEqual(thread.pid, target.pid)
            self.assertEqual(thread.process["namespace_pid"], 1)
            self.assertTrue(os.path.isdir(f"/proc/{target.pid}/task/{thread.tid}"))
            inner = int(status_fields(target.pid, thread.tid)["NSpid"].split()[-1])
            self.assertEqual(inner, thread.raw["namespace_tid"])
            self.assertNotEqual(inner, thread.tid)
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0)

    def test_ids_are_those_of_the_host(self):
        self.for_each(self.check_ids, "thread_names.py")

    def check_children(self, target):
        pids = {target.expect("process").pid for _ in range(6)}
        threads = profiler.dump(target.pid, "--subprocesses")
        self.assertEqual({thread.pid for thread in threads if thread.stack}, pids)

    def test_children_in_the_namespace(self):
        self.for_each(self.check_children, "process_tree.py")

    def check_recording(self, target):
        recorded, _ = profiler.record(target.pid, 1, "--rate", "1khz", "--max-overhead", "off")
        self.assertTrue(any("outer" in stacks.plain_names(stack) for stack in recorded), recorded)
        self.assertUnharmed(target.pid)
        self.assertEqual(target.finish(), 0)

    def test_recording(self):
        self.for_each(self.check_recording, "heartbeat.py")


if __name__ == "__main__":
    case.main()

"""A process with more threads than are followed. The main thread and the one with the GIL are there; the rest is
counted."""
import json
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402

WAITING, FOLLOWED = 4300, 4096


class ManyThreads(case.Case):
    def test_who_works_is_followed_and_the_rest_counted(self):
        target = self.start("very_many_threads.py", WAITING)
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder, "out.pftrace")
            recorded = profiler.must("record", "--pid", target.pid, "-d", "2s", "-o", output)
            stacks = profiler.must("export", output, "--format", "collapsed", "-o", "-").output
            self.assertTellsHowMany(recorded.errors)
            html = pathlib.Path(folder, "out.html")
            profiler.must("export", output, "-o", html)
            self.assertTellsHowMany(html.read_text())
        for function in ("the_main_thread", "the_worker"):
            self.assertGreater(sum(int(line.rsplit(" ", 1)[1]) for line in stacks.splitlines() if function in line), 10, function)
        dumped = profiler.must("dump", "--pid", target.pid, "--json")
        threads = {thread["name"]: thread for process in json.loads(dumped.output)["processes"] for thread in process["threads"]}
        self.assertLessEqual({"MainThread", "worker"}, set(threads))
        self.assertTellsHowMany(dumped.errors)
        self.assertUnharmed(target.pid)
        self.assertEqual((target.finish(), target.stderr()), (0, ""))

    def assertTellsHowMany(self, text):
        found = re.search(r"(\d+) of (\d+) are not recorded", text)
        self.assertTrue(found, text[:2000])
        left_out, all_of_them = map(int, found.groups())
        self.assertEqual(all_of_them, WAITING + 2)
        self.assertTrue(all_of_them - FOLLOWED - 64 <= left_out <= all_of_them - FOLLOWED, found[0])


if __name__ == "__main__":
    case.main()

"""The rights of the collector while it reads a target: the owner's identity, no capability, a sandbox."""
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import yama  # noqa: E402
from support.target_process import status_fields  # noqa: E402
from support.terminal_run import AS_NOBODY, TerminalCase, main, needs_root  # noqa: E402

SYS_PTRACE = 1 << 19


class Rights(TerminalCase):
    def collector_of(self, target_prefix=(), prefix=()):
        target = self.spin(target_prefix)
        process = self.ptrace_prof("record", "--pid", target.pid, "-o", self.folder / "x.collapsed", prefix=prefix)
        process.hear("recording process")
        collector = process.collector()
        seen = status_fields(collector)
        self.open_files = [os.readlink(f"/proc/{collector}/fd/{fd}") for fd in self.safe_listing(f"/proc/{collector}/fd")]
        self.session = os.getsid(collector)
        self.assertEqual(self.session, collector, "Ctrl-Z must not stop it")
        process.process.send_signal(signal.SIGINT)
        self.assertEqual(process.end(), 0, process.words())
        self.assertIn("spin", (self.folder / "x.collapsed").read_text())
        self.assertEqual(seen["NoNewPrivs"], "1")
        self.assertEqual(seen["Seccomp"], "2")
        self.assertEqual(int(seen["CapInh"], 16) | int(seen["CapAmb"], 16), 0)
        return seen

    @staticmethod
    def safe_listing(path):
        return [fd for fd in os.listdir(path) if os.path.lexists(f"{path}/{fd}") and int(fd) <= 2]

    @needs_root
    def test_root_becomes_the_owner(self):
        seen = self.collector_of(target_prefix=AS_NOBODY)
        self.assertEqual(seen["Uid"].split(), ["65534"] * 4)
        self.assertEqual(seen["Gid"].split(), ["65534"] * 4)
        self.assertEqual(seen["Groups"].split(), [])
        self.assertEqual(int(seen["CapPrm"], 16), 0)
        self.assertEqual(int(seen["CapBnd"], 16), 0)

    @needs_root
    def test_for_a_target_of_roots_one_capability_stays(self):
        seen = self.collector_of()
        self.assertIn(int(seen["CapPrm"], 16), (0, SYS_PTRACE))  # 0: a root that has no capabilities itself
        self.assertEqual(int(seen["CapBnd"], 16), 0)

    @needs_root
    def test_of_root_none_stays_where_nothing_but_yama_keeps_it_from_the_owner(self):
        seen = self.collector_of(target_prefix=AS_NOBODY, prefix=yama.prefix(1))
        self.assertEqual(seen["Uid"].split(), ["65534"] * 4)
        self.assertEqual(int(seen["CapPrm"], 16), 0)

    @needs_root
    def test_ordinary_user(self):
        seen = self.collector_of(target_prefix=AS_NOBODY, prefix=AS_NOBODY)
        self.assertEqual(int(seen["CapPrm"], 16), 0)

    def test_as_whoever_runs_this(self):
        self.collector_of()
        self.assertIn("/dev/null", self.open_files)

    @needs_root
    def test_every_verb_works_confined(self):
        target = self.spin(AS_NOBODY)
        for options in (["dump", "--pid", target.pid, "--locals", "--subprocesses"],
                        ["dump", "--pid", target.pid, "--blocking"],
                        ["record", "--pid", target.pid, "-d", "300ms", "--blocking", "-o", self.folder / "b.collapsed"],
                        ["record", "--pid", target.pid, "-d", "300ms", "--rate", "max", "-o", self.folder / "m.collapsed"]):
            for prefix in ((), AS_NOBODY):
                with self.subTest((*options, *prefix)):
                    process = self.ptrace_prof(*options, prefix=prefix)
                    self.assertEqual(process.end(), 0, process.words())


if __name__ == "__main__":
    main()

"""Resource limits and policies of a job. A trace that would exceed one is refused with its name, or fits in, and the
job lives on. One test for each."""
import contextlib
import os
import pathlib
import resource
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import case, profiler  # noqa: E402
from support.target_process import status_fields  # noqa: E402

MIB = 1 << 20
GROUPS = pathlib.Path("/sys/fs/cgroup")


class JobLimits(case.Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.output = pathlib.Path(folder.name, "out.pftrace")

    def record(self, target, *options, duration="300ms"):
        self.output.unlink(missing_ok=True)
        return profiler.run("record", "--pid", target.pid, "-d", duration, "-o", self.output, *options)

    def job(self, mode="nothing", **options):
        return self.start("limited.py", mode, **options)

    def left_by_us(self, target):
        return [name for name in (os.readlink(f"/proc/{target.pid}/fd/{number}") for number in os.listdir(f"/proc/{target.pid}/fd"))
                if "memfd:ptrace-prof" in name]

    def assertRefused(self, target, words, *options, **more):
        refused = self.record(target, "--mode", "trace", *options, **more)
        self.assertRegex(refused.errors, r"error: .*\[TRACER_NOT_LOADED\]")
        self.assertIn(words, refused.errors)
        self.assertFalse(self.output.exists())
        self.assertEqual(self.left_by_us(target), [])
        self.assertEqual(self.record(target).status, 0)
        self.assertUnharmed(target.pid)

    def assertTraced(self, target, *options):
        traced = self.record(target, "--mode", "trace", *options)
        self.assertEqual(traced.status, 0, traced)
        self.assertUnharmed(target.pid)

    def assertEndsWell(self, target):
        self.assertEqual((target.finish(), target.stdout(), target.stderr()), (0, "", ""))

    def in_kib(self, target, name):
        return int(status_fields(target.pid)[name].split()[0]) << 10

    def test_address_space_and_data(self):
        for limit, used, name, too_little in ((resource.RLIMIT_AS, "VmSize", "RLIMIT_AS, ulimit -v", 100 * MIB),
                                              (resource.RLIMIT_DATA, "VmData", "RLIMIT_DATA, ulimit -d", 10 * MIB)):
            with self.subTest(name):
                target = self.job()
                resource.prlimit(target.pid, limit, (self.in_kib(target, used) + too_little, resource.RLIM_INFINITY))
                self.assertRefused(target, name)
                resource.prlimit(target.pid, limit, (self.in_kib(target, used) + 200 * MIB, resource.RLIM_INFINITY))
                self.assertTraced(target)
                self.assertEndsWell(target)

    def test_locked_memory(self):
        if os.geteuid() != 0:
            self.skipTest("takes root, to lock more than is allowed")
        target = self.job("locks-all")
        hard = resource.prlimit(target.pid, resource.RLIMIT_MEMLOCK)[1]
        most = self.in_kib(target, "VmLck") + 20 * MIB
        if hard == resource.RLIM_INFINITY or hard > most:
            resource.prlimit(target.pid, resource.RLIMIT_MEMLOCK, (most, hard))
        self.assertRefused(target, "RLIMIT_MEMLOCK, ulimit -l")
        self.assertEndsWell(target)
        target = self.job("locks")
        for _ in range(2):  # locked memory keeps what it held at the end of the first capture
            self.assertTraced(target)
        self.assertEndsWell(target)

    def test_open_files(self):
        target = self.job()
        limits = resource.prlimit(target.pid, resource.RLIMIT_NOFILE)
        used = len(os.listdir(f"/proc/{target.pid}/fd"))
        resource.prlimit(target.pid, resource.RLIMIT_NOFILE, (used + 5, limits[1]))
        self.assertRefused(target, "RLIMIT_NOFILE, ulimit -n")
        resource.prlimit(target.pid, resource.RLIMIT_NOFILE, limits)
        self.assertTraced(target)
        self.assertEndsWell(target)

    @contextlib.contextmanager
    def memory_group(self):
        first, second = GROUPS / "memory", GROUPS
        for root, file in ((first, "memory.limit_in_bytes"), (second, "memory.max")):
            folder = root / f"ptrace-prof-test-{os.getpid()}"
            with contextlib.suppress(OSError):
                folder.mkdir()
                if (folder / file).exists():
                    break
                folder.rmdir()
        else:
            self.skipTest("no control group for memory can be made here")
        try:
            yield folder, folder / file
        finally:
            for pid in (folder / "cgroup.procs").read_text().split():
                (root / "cgroup.procs").write_text(pid)
            folder.rmdir()

    def test_memory_of_its_control_group(self):
        with self.memory_group() as (folder, limit):
            target = self.job()
            (folder / "cgroup.procs").write_text(str(target.pid))
            limit.write_text(str(15 * MIB))
            self.assertRefused(target, str(folder))
            limit.write_text(str(300 * MIB))
            self.assertTraced(target)
            self.assertEndsWell(target)

    def test_a_filter_of_its_own(self):
        """The filter may kill, so a trace that needs forbidden calls is refused. If the filter only refuses, --force
        tries."""
        target = self.job("kills")
        self.assertRefused(target, "its own system call filter (seccomp)")
        self.assertEndsWell(target)
        for mode in ("fails", "no-code"):
            with self.subTest(mode):
                target = self.job(mode)
                self.assertRefused(target, "its own system call filter (seccomp)")
                self.assertRefused(target, "the tracer did not start", "--force", duration="8s")
                self.assertEndsWell(target)

    def test_no_code_is_made(self):
        """The job forbids itself to make new code. Nothing of ours is written and executed at the same place."""
        target = self.job("no-new-code")
        self.assertTraced(target)
        self.assertEndsWell(target)


if __name__ == "__main__":
    case.main()

#!/usr/bin/env python3
"""The GPU shim in processes that have mapped a real libcupti, on a machine without a driver. It reports that, leaves no
thread, no file and no mapping but itself, and the process goes on. For each version in the cache that can be loaded.

Exit status 77: there is none, or this machine has a driver.
"""
import collections
import pathlib
import subprocess
import sys
import time

import cuda_double_oracle_test as oracle
import cuda_double_test as double
import gpu_shim_test as shim

from support import case, profiler, runner
from support.target_process import DEADLINE

ROUNDS = 3


def loads(path):
    """Loads it in a process of its own, which a library may end."""
    done = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(path)!r})"], stderr=subprocess.DEVNULL)
    return done.returncode == 0


HERE = [version for version in oracle.HERE if loads(oracle.real(version))]


def named_mappings(pid):
    """The mapped files, each as often as it is mapped."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return sorted(path[5] for path in (line.split(maxsplit=5) for line in lines) if len(path) > 5 and path[5][0] == "/")


class RealLibraries(shim.GpuShimCase):
    def start_with(self, version, mode):
        target = self.start("cupti_mapped.py", oracle.real(version), mode)
        self.goes_on(target)  # now all its threads are there
        self.assertTrue(any(oracle.real(version).name in name for name in named_mappings(target.pid)))
        return target

    def goes_on(self, target):
        target.tell("ping")
        target.expect("pong")

    def test_without_a_driver(self):
        for version in HERE:
            for mode in ("busy", "threads"):
                with self.subTest(version=version, mode=mode):
                    target = self.start_with(version, mode)
                    before = {of: of(target.pid) for of in (shim.thread_names, shim.open_files, named_mappings)}
                    for _ in range(ROUNDS):
                        error = self.refused(target, "--force")
                        self.assertEqual(error["reason"], "NO_CUDA", error)
                        self.assertGone(target.pid)
                    deadline = time.monotonic() + DEADLINE  # a thread that fails early does not get our name
                    while shim.thread_names(target.pid) != before[shim.thread_names]:
                        self.assertLess(time.monotonic(), deadline, shim.thread_names(target.pid))
                    self.assertUnharmed(target.pid)
                    after = {of: of(target.pid) for of in before}
                    new = collections.Counter(after[named_mappings]) - collections.Counter(before[named_mappings])
                    self.assertEqual([name.startswith("/memfd:ptrace-prof") for name in new], [True], new)  # the shim
                    self.assertLess(sum(new.values()), 8, "once")
                    self.assertEqual(after[shim.open_files], before[shim.open_files])
                    self.goes_on(target)
                    self.assertEqual((target.finish(), target.stderr(), target.stdout()), (0, "", "ended well\n"))

    def test_a_recording_goes_on_without_it(self):
        target = self.start_with(HERE[-1], "busy")
        finished = profiler.must("record", "--gpu", "--pid", target.pid, "--duration", "1s", "-o", self.truth_file)
        self.assertIn("the GPU is not recorded", finished.errors)
        self.assertGone(target.pid)
        self.assertEqual((target.finish(), target.stdout()), (0, "ended well\n"))


def main():
    for version in double.VERSIONS:
        if version not in HERE:
            print(f"the real libcupti {version} is not in {oracle.CACHE}/cupti (./dev setup test fetches it), or does not load: not tested")
    if not HERE or any(pathlib.Path(folder, "libcuda.so.1").exists() for folder in ("/usr/lib64", "/usr/lib/x86_64-linux-gnu")):
        sys.exit(runner.SKIPPED)
    case.main()


if __name__ == "__main__":
    main()

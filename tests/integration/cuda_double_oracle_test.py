#!/usr/bin/env python3
"""The double of libcupti against the real ones, which need no GPU for this. The real library walks every buffer that
the double fills, and must find the same records at the same offsets. Sizes, names and results without a driver are the
same.

The real libraries are in the cache (tests/doubles/cuda/real_libraries.txt). Exit status 77: there is none.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import cuda_double_test as double

sys.path.insert(0, str(double.ROOT / "tests"))
from support import runner  # noqa: E402
from support.interpreters import CACHE  # noqa: E402

FACTS = double.ROOT / "tests/targets/cupti_facts.py"
MUTE = 130400  # from this version on the library answers nothing without a driver


def real(version):
    found = sorted((CACHE / "cupti" / version).glob("libcupti.so.*"))
    return found[0] if found else None


def ours(version, doubles=double.DOUBLES):
    return next(pathlib.Path(doubles, version, "site-packages/nvidia").glob("*/lib/libcupti.so.*"))


def ask(library, question, told=None):
    done = subprocess.run([sys.executable, str(FACTS), str(library), question], capture_output=True, text=True, timeout=120,
                          input=json.dumps(told), env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode:
        raise AssertionError(f"{library}: {question} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


HERE = [version for version in double.VERSIONS if real(version)]
TALKING = [version for version in HERE if int(version) < MUTE]


class Oracle(unittest.TestCase):
    def compare(self, versions, question, check):
        for version in versions:
            with self.subTest(version=version):
                check(version, ask(ours(version), question), ask(real(version), question))

    def same(self, _, of_double, theirs):
        self.assertEqual(of_double, theirs)

    def test_versions(self):
        self.compare(TALKING, "version", lambda version, *both: self.assertEqual(both, ([0, int(version)],) * 2))

    def test_strides(self):
        self.compare(TALKING, "strides", self.same)

    def test_what_there_is_to_call(self):
        self.compare(HERE, "has", self.same)

    def test_names(self):
        def check(_, of_double, theirs):
            # The double knows the results of all versions, so a version may lack some of them.
            wrong = {key: (name, theirs.get(key)) for key, name in of_double.items()
                     if theirs.get(key, name if key.startswith("result") else None) != name}
            self.assertEqual(wrong, {})

        self.compare(TALKING, "names", check)

    def test_buffers(self):
        for version in TALKING:
            with self.subTest(version=version):
                for scene, options in (("one_thread", {}), ("every_kind", {"load_every": 5, "devices": 2})):
                    if scene == "every_kind" and int(version) < 18:
                        continue  # it has no records of compilations
                    seen = double.play(scene, version, **options)
                    self.assertEqual(ask(real(version), "walk", seen["buffers"]), seen["offsets"])
                    self.assertGreater(sum(map(len, seen["offsets"])), 900)

    def test_without_driver(self):
        if any(pathlib.Path(folder, "libcuda.so.1").exists() for folder in ("/usr/lib64", "/usr/lib/x86_64-linux-gnu")):
            self.skipTest("this machine has a driver")
        with tempfile.TemporaryDirectory() as folder:
            for version in HERE:
                with self.subTest(version=version):
                    shutil.copytree(double.DOUBLES / version / "site-packages",
                                    pathlib.Path(folder, version, "site-packages"))
                    of_double = ask(ours(version, folder), "without_driver")
                    self.assertEqual(of_double["results"], ask(real(version), "without_driver")["results"])
                    self.assertEqual(of_double["threads"], 1)


def main():
    for version in double.VERSIONS:
        if version not in HERE:
            print(f"the real libcupti {version} is not in {CACHE}/cupti (./dev setup test fetches it): not tested")
    if not HERE:
        sys.exit(runner.SKIPPED)
    runner.main()


if __name__ == "__main__":
    main()

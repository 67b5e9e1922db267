#!/usr/bin/env python3
"""The double of libcupti does what the real one did, in the scenarios that have a transcript (tests/transcripts). Also
the recorder, the scenarios and the comparer work, as shown on the double.
"""
import copy
import functools
import pathlib
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import cuda_double_oracle_test as oracle

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import interpreters, runner  # noqa: E402
from transcripts import altered, comparing, normal_form, recorder, recording, scenarios, transcript  # noqa: E402

VERSION = "130001"
LIBRARY_HEADER = recorder.ROOT / "attach/target/gpu/cupti_library.h"
# (scenario, fault of the double, words of the difference): changes of the double's behaviour that must be found
FAULTS = (
    ("run", {"zero_after": 0}, "records of launcher#1.*over.*without times"),
    ("run", {"no_kernels": 1}, "records of launcher#1|which records come.*kernel"),
    ("run", {"nested_driver": 1}, "what launcher#1 does and is told.*the runtime's 505.*the driver's 307"),
    ("run", {"drop_every": 3}, "dropped 0.*dropped [1-9]"),
    ("finalize", {"no_exit": 1}, "real library: is told at the exit of the driver's 2 "),
    ("finalize", {"wrong_graphs": 1}, "recording 2"),
    ("attach", {"devices": 2}, "records of no call.*a context, device 2, context 2"),
)
# Not differences: numbers that a library chooses, and durations.
SAME = (("run", {"correlation": 0xffffff00, "gpu_offset": 1}), ("detach", {"delivery_ms": 30}))
OTHER_VERSIONS = (("22", "detach"), ("24", "finalize"), ("130500", "run"))
WORDS = "the double once", "the double again"


def interpreter():
    return next(one for one in interpreters.discover() if not one.in_root)


@functools.cache
def recorded():
    """{(version, scenario, faults, which): events} of everything that is compared here; several are recorded at once.
    """
    wanted = [(VERSION, name, {}, which) for name in scenarios.ALL for which in (1, 2)]
    wanted += [(version, name, {}, which) for version, name in OTHER_VERSIONS for which in (1, 2)]
    wanted += [(VERSION, name, faults, 1) for name, faults, *_ in (*FAULTS, *SAME)]
    wanted.sort(key=lambda one: one[1] != "conflict" and "no_exit" not in one[2])  # these take longest
    return recording.together({
        key(version, name, which, faults): functools.partial(recording.on_double, name, version, interpreter(), **faults)
        for version, name, faults, which in wanted})


def key(version, name, which=1, faults=None):
    return version, name, tuple(sorted((faults or {}).items())), which


class Double(unittest.TestCase):
    """Compared with the stored transcripts."""

    def setUp(self):
        self.stored = transcript.stored()
        if not self.stored:
            self.skipTest(f"no transcript of a real libcupti is stored yet in {transcript.DATA.relative_to(recorder.ROOT)}: "
                          "the double's state machine is unverified (tests/gpu/on_a_gpu.py records them)")

    def test_does_what_the_real_library_did(self):
        made = recording.together({
            (version, name): functools.partial(recording.on_double, name, version, interpreter())
            for version, name, _ in self.stored if recording.double_of(version)})
        for version, name, path in self.stored:
            with self.subTest(version=version, scenario=name):
                about, events = transcript.read(path)
                self.assertTrue(about["real"], "of a double")
                self.assertIn((version, name), made, "there is no double of this version")
                self.assertEqual(comparing.first_difference(events, made[version, name]) or "", "")

    def test_every_scenario_is_there_of_a_version_that_is(self):
        by_version = {}
        for version, name, _ in self.stored:
            by_version.setdefault(version, set()).add(name)
        self.assertEqual(by_version, {version: set(scenarios.of_version(version)) for version in by_version})


class Comparer(unittest.TestCase):
    def assertSame(self, one, other):
        self.assertEqual(comparing.first_difference(one, other, WORDS) or "", "")

    def assertFound(self, one, other, words):
        found = comparing.first_difference(one, other)
        self.assertIsNotNone(found)
        self.assertTrue(re.search(words, found, re.DOTALL), found)

    def test_the_double_is_like_itself(self):
        for name in scenarios.ALL:
            with self.subTest(scenario=name):
                self.assertSame(recorded()[key(VERSION, name)], recorded()[key(VERSION, name, 2)])

    def test_other_versions_are_like_themselves_and_not_like_this_one(self):
        for version, name in OTHER_VERSIONS:
            with self.subTest(version=version):
                self.assertSame(recorded()[key(version, name)], recorded()[key(version, name, 2)])
                self.assertFound(recorded()[key(VERSION, name)], recorded()[key(version, name)], "cuptiGetVersion")

    def test_faults_of_the_double_are_found(self):
        for name, faults, words in FAULTS:
            with self.subTest(faults):
                self.assertFound(recorded()[key(VERSION, name)], recorded()[key(VERSION, name, 1, faults)], words)

    def test_what_no_library_promises_is_no_difference(self):
        for name, options in SAME:
            with self.subTest(options):
                self.assertSame(recorded()[key(VERSION, name)], recorded()[key(VERSION, name, 1, options)])

    def test_altered_behaviour_is_found(self):
        for name, alter, words in altered.ALL:
            with self.subTest(alter.__name__):
                events = recorded()[key(VERSION, name)]
                self.assertFound(events, alter(copy.deepcopy(events)), words)

    def test_what_is_stored_is_what_was_recorded(self):
        events = recorded()[key(VERSION, "run")]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, VERSION, "run" + transcript.SUFFIX)
            transcript.write(path, {"real": False}, events)
            self.assertEqual(transcript.read(path), ({"real": False}, events))
            self.assertEqual(transcript.stored(folder), [(VERSION, "run", path)])


class Scenarios(unittest.TestCase):
    """The scenarios show what they are for."""

    def assertShows(self, name, heading, words):
        steps = normal_form.of_events(recorded()[key(VERSION, name)])[heading]
        self.assertTrue(any(re.search(words, step.text) for step in steps), [step.text for step in steps])

    def test_what_is_in_them(self):
        for name, heading, words in (
                ("attach", "records of no call", "a device"),
                ("run", "records of launcher#2 in recording 1", "the runtime's 311.*a kernel.*graph 2.*a kernel.*graph 2"),
                ("detach", "records of launcher#1 in recording 1", "not over"),
                ("finalize", "what control#2 does and is told", "cuptiFinalize.* → 0 in that callback"),
                ("conflict", "what control#1 does and is told", "cuptiSubscribe_v2.* → 39, other CUPTI for another tool"),
                ("conflict", "what tool does and is told", "cuptiSubscribe_v2.* → 39, other CUPTI for ptrace-prof"),
                ("conflict", "where buffers are asked for", "launcher is asked.*registrant#2's")):
            with self.subTest(scenario=name, words=words):
                self.assertShows(name, heading, words)


class Recorder(unittest.TestCase):
    def test_passes_on_every_call_of_the_shim(self):
        table = re.search(r"#define PP_CUPTI_FOR_EACH_FUNCTION\(.*?[^\\]\n", LIBRARY_HEADER.read_text(), re.DOTALL).group()
        used = set(re.findall(r"(?:NEEDED|OPTIONAL)\((cupti\w+),", table))
        self.assertGreater(len(used), 15)
        passed_on = {name.decode() for name in recorder.FUNCTION.findall(recorder.RECORDER.read_bytes())}
        self.assertEqual(used - passed_on, set(), "recorder_calls.c lacks these")

    def check(self, library, folder):
        names = recorder.Names(library)
        stand_in, _ = recorder.put_before(library, folder)
        ours = recorder.Names(stand_in)
        self.assertEqual((ours.soname, stand_in.name), (names.soname, names.soname.decode()))
        of_recorder = recorder.FUNCTION.findall(recorder.RECORDER.read_bytes())
        self.assertEqual([name for name in of_recorder if name in ours.all], [name for name in of_recorder if name in names.all])

    def test_stands_in_for_every_double(self):
        for path in sorted(recording.DOUBLES.glob("[0-9]*")):
            with self.subTest(version=path.name), tempfile.TemporaryDirectory() as folder:
                self.check(recording.double_of(path.name), folder)

    def test_stands_in_for_real_libraries(self):
        libraries = sorted((interpreters.CACHE / "cupti").glob("*/libcupti.so.*"))
        if not libraries:
            self.skipTest("no real libcupti is in the cache (./dev setup test fetches some)")
        for path in libraries:
            with self.subTest(path.parent.name), tempfile.TemporaryDirectory() as folder:
                self.check(path, folder)

    def test_real_libraries_answer_through_it(self):
        """What can be tested of them without a driver."""
        if not oracle.TALKING:
            self.skipTest("no real libcupti that talks without a driver is in the cache (./dev setup test fetches some)")
        for version in {oracle.TALKING[0], oracle.TALKING[-1]}:
            with self.subTest(version=version), tempfile.TemporaryDirectory() as folder:
                real = oracle.real(version)
                stand_in, environment = recorder.put_before(real, folder)
                with mock.patch.dict(os.environ, {**environment, "PP_CUPTI_TRANSCRIPT": f"{folder}/lines"}):
                    for question in ("version", "strides"):
                        self.assertEqual(oracle.ask(stand_in, question), oracle.ask(real, question))

    def test_a_function_that_is_lacking_is_not_found(self):
        with tempfile.TemporaryDirectory() as folder:
            stand_in, environment = recorder.put_before(recording.double_of("22"), folder)
            code = (f"import ctypes; library = ctypes.CDLL({str(stand_in)!r}); version = ctypes.c_uint32();"
                    "print(hasattr(library, 'cuptiSubscribe'), hasattr(library, 'cuptiSubscribe_v2'),"
                    "      library.cuptiGetVersion(ctypes.byref(version)), version.value)")
            said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                                  env={**os.environ, **environment, "PP_CUPTI_TRANSCRIPT": f"{folder}/lines"})
            self.assertEqual(said.stdout.split(), ["True", "False", "0", "22"])
            left = transcript.parse(pathlib.Path(folder, "lines").read_text())[-1]
            self.assertEqual((left["call"], left["result"], left["version"]), ("cuptiGetVersion", 0, 22))


if __name__ == "__main__":
    runner.main()

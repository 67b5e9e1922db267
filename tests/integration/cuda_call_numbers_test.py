#!/usr/bin/env python3
"""The program's numbers of CUDA's calls (callback ids), compared with the real libraries and headers. In the libraries
cuptiGetCallbackName is asked for each number, where it answers without a driver. The headers list the numbers, and also
cover versions whose library does not answer.

Exit status 77: neither a real library nor headers are in the cache (./dev setup test fetches them).
"""
import re
import sys
import unittest

import cuda_declarations_test as declarations
import cuda_double_oracle_test as oracle
import cuda_double_test as double
import cuda_headers_test as headers

from support import runner

DRIVER, RUNTIME = 1, 2
DOMAINS = {"Driver": DRIVER, "Runtime": RUNTIME, "DRIVER": DRIVER, "RUNTIME": RUNTIME}
LISTS = ((RUNTIME, "cupti_runtime_cbid.h", "CUPTI_RUNTIME_TRACE_CBID_"), (DRIVER, "cupti_driver_cbid.h", "CUPTI_DRIVER_TRACE_CBID_"))
# Calls that start work on a GPU, or stand for such work in a graph that is captured.
MATTERS = re.compile(r"_*cu(da)?(Launch|GraphLaunch|Memcpy|Memset|Stream(Begin|End)(Capture|Recapture)(?!ToCig)|GraphInstantiate)")

NEVER = {(DRIVER, 248)}  # cuMemcpy_v2: the number of a call that CUDA does not have


def plain(name):
    """The name as in the table: without the suffix of the release that changed a call of the runtime's."""
    return re.sub(r"_v\d{4,}", "", name)


def of_library(version):
    said = oracle.ask(oracle.real(version), "names")
    return {tuple(map(int, key.split())): name for key, name in said.items() if not key.startswith("result")}


def of_headers(version):
    return {(domain, int(number)): name for domain, file, start in LISTS for name, number in re.findall(
        rf"{start}(\w+)\s*=\s*(\d+)", (headers.include_folder(version) / file).read_text()) if name != "INVALID"}


def table():
    """{(domain, number): name} of gpu_calls_table.cc."""
    rows = re.findall(r'\{GpuApi::k(\w+), (\d+), "(\w+)", GpuCallKind::k\w+\}', declarations.source("gpu_calls_table.cc"))
    assert len(rows) == declarations.source("gpu_calls_table.cc").count("GpuCallKind::k") > 200
    return {(DOMAINS[api], int(number)): name for api, number, name in rows}


def detail():
    """The numbers of the calls that gpu_detail.cc requests records of."""
    text = declarations.source("gpu_detail.cc")
    for domain, name in ((RUNTIME, "kRuntime"), (DRIVER, "kDriver")):
        body, = re.findall(rf"constexpr Calls {name}\[\] = \{{(.*?)\}};", text, flags=re.S)
        for first, last in re.findall(r"\{(\d+), (\d+), GpuDetail", body):
            yield from ((domain, number) for number in range(int(first), int(last) + 1))


def captures():
    """{(domain, number): whether a capture begins} of cupti_captures.c."""
    text = (double.ROOT / "attach/target/gpu/cupti_captures.c").read_text()
    return {(DOMAINS[domain], int(number)): what == "BEGINS"
            for what, domain, number in re.findall(r"\b(BEGINS|ENDS)\((\w+), (\d+)\)", text)}


class Numbers(unittest.TestCase):
    def of_each(self, check):
        """Calls check({number: name}) for each version."""
        for what, versions, ask in (("library", oracle.TALKING, of_library), ("headers", headers.HERE, of_headers)):
            for version in versions:
                with self.subTest(version=version, by=what):
                    theirs = ask(version)
                    self.assertGreater(len(theirs), 900)
                    check(theirs)

    def test_table(self):
        ours, known = table(), set()

        def check(theirs):
            self.assertEqual({key: plain(theirs[key]) for key in ours if key in theirs},
                             {key: name for key, name in ours.items() if key in theirs})
            known.update(theirs)

        self.of_each(check)
        if headers.HERE:
            self.assertEqual({key: name for key, name in ours.items() if key not in known}, {}, "no version has them")

    def test_nothing_is_left_out(self):
        ours = {*table(), *NEVER}

        def check(theirs):
            self.assertEqual({key: name for key, name in theirs.items() if MATTERS.match(name) and key not in ours}, {})

        self.of_each(check)

    def test_what_is_asked_for_is_known(self):
        asked = list(detail())
        self.assertGreater(len(asked), 150)
        self.assertEqual(set(asked) - table().keys(), set())

    def test_captures(self):
        """The shim must watch all calls of this kind."""
        ours = captures()

        def check(theirs):
            # cuStreamCreateForCaptureToCig: in 12.9 and 13.0 the name of a number that later also begins a capture.
            found = {key: "StreamEnd" not in name for key, name in theirs.items()
                     if re.match(r"cu(da)?Stream(Begin|End|CreateFor)(Capture|Recapture)", name)}
            self.assertEqual({key: begins for key, begins in ours.items() if key in theirs}, found)

        self.of_each(check)

    def test_the_call_in_which_cupti_is_taken_down(self):
        text = (double.ROOT / "attach/target/gpu/cupti_finalize.c").read_text()
        number, = re.findall(r"PP_OUR_CALL = (\d+)", text)
        self.of_each(lambda theirs: self.assertEqual(theirs[DRIVER, int(number)], "cuDriverGetVersion"))
        other, = re.findall(r"PP_OUR_CALL = (\d+)", (double.ROOT / "attach/target/gpu/cupti_callbacks.c").read_text())
        self.assertEqual(other, number)


def main():
    for version in double.VERSIONS:
        if version not in oracle.HERE:
            print(f"the real libcupti {version} is not in {oracle.CACHE}/cupti (./dev setup test fetches it): not tested")
    if not oracle.HERE and not headers.HERE:
        sys.exit(runner.SKIPPED)
    runner.main()


if __name__ == "__main__":
    main()

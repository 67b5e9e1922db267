#!/usr/bin/env python3
"""Our assumptions about CUPTI's records against the real headers, where the cache has them: sizes of records by kind,
and the offsets of fields, which no version moved. Exit status 77: no headers, or no C compiler.

The headers include CUDA's own, of which they need only names of types. The test declares types of the same size
instead.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import cuda_double_oracle_test as oracle
import cuda_double_test as double

sys.path.insert(0, str(double.ROOT / "tests/targets"))
from cupti_client import FIELDS  # noqa: E402

POINTERS = ("CUcontext", "CUstream", "CUgraph", "CUgraphNode", "CUgraphExec", "CUevent", "CUmodule", "CUfunction")
INTEGERS = ("CUdevice", "CUresult", "CUdevice_attribute", "CUgraphNodeType", "CUstreamAttrID", "CUstreamAttrValue")
TYPES = "".join((
    "#pragma once\n#include <stddef.h>\n#include <stdint.h>\n",
    *(f"typedef struct {name}_of* {name};\n" for name in POINTERS),
    *(f"typedef int {name};\n" for name in INTEGERS),
    "typedef unsigned long long CUdeviceptr;\ntypedef struct { char bytes[16]; } CUuuid;\n",
    "typedef struct { char bytes[32]; } CUaccessPolicyWindow;\n"))
CUDA_HEADERS = ("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "driver_types.h", "vector_types.h", "builtin_types.h")
# Activity kinds and the structures of their records, without the number at the end.
STRUCTURES = {1: "Memcpy", 2: "Memset", 4: "API", 5: "API", 8: "Device", 9: "Context", 10: "Kernel", 11: "Name",
              12: "Marker", 13: "MarkerData", 17: "Overhead", 22: "MemcpyPtoP", 36: "CudaEvent", 37: "Stream",
              38: "Synchronization", 39: "ExternalCorrelation", 40: "NvLink", 46: "Pcie", 49: "Memory", 50: "MemoryPool",
              51: "GraphTrace", 52: "Jit"}
OUR_NAMES = {"start": "start", "end": "end", "device": "deviceId", "context": "contextId", "stream": "streamId",
             "grid_x": "gridX", "block_x": "blockX", "correlation": "correlationId", "name": "name", "node": "graphNodeId",
             "graph": "graphId", "copy_kind": "copyKind", "bytes": "bytes", "type": "type", "null_stream": "nullStreamId",
             "major": "computeCapabilityMajor", "overhead": "overheadKind", "cbid": "cbid", "process": "processId",
             "thread": "threadId", "entry": "jitEntryType", "operation": "jitOperationType", "flags": "flags", "timestamp": "timestamp", "number": "id",
             "object": "objectKind", "domain": "domain", "warp": "numThreadsPerWarp", "warps": "maxWarpsPerMultiprocessor",
             "slice": "isMigEnabled", "gpu_instance": "gpuInstanceId", "compute_instance": "computeInstanceId",
             "slice_uuid": "migUuid"}
OLDEST = {"Marker": 2, "Kernel": 8, "Memcpy": 5, "Memset": 4, "Device": 4}  # in supported versions


def include_folder(version):
    folder = oracle.CACHE / "cupti" / version / "include"
    return folder if (folder / "cupti_activity.h").exists() else None


def structures(folder, files=("cupti_activity.h", "cupti_activity_deprecated.h")):
    """{name: its text} of the structures that the headers define."""
    found = {}
    for file in files:
        if (folder / file).exists():
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", (folder / file).read_text(errors="replace"), flags=re.S)
            for body, name in re.findall(r"typedef struct[^{;]*\{((?:(?!typedef struct).)*?)\}\s*CUpti_Activity(\w+)\s*;",
                                         text, flags=re.S):
                found[name] = body
    return found


def write_cuda_headers(place):
    for header in CUDA_HEADERS:
        pathlib.Path(place, header).write_text(TYPES if header == "cuda.h" else "#include <cuda.h>\n")


def evaluate(folder, expressions):
    """The values of C expressions about what the headers declare."""
    with tempfile.TemporaryDirectory() as place:
        write_cuda_headers(place)
        lines = "".join(f'  printf("%zu\\n", (size_t)({one}));\n' for one in expressions)
        pathlib.Path(place, "ask.c").write_text(
            "#include <stdio.h>\n#include <cupti_result.h>\n#include <cupti_callbacks.h>\n#include <cupti_activity.h>\n"
            f"int main(void) {{\n{lines}}}\n")
        done = subprocess.run(["cc", "-w", f"-I{place}", f"-I{folder}", "-o", f"{place}/ask", f"{place}/ask.c"],
                              capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"the headers of {folder} do not compile: {done.stderr[:1000]}")
        return [int(line) for line in subprocess.run([f"{place}/ask"], capture_output=True, check=True).stdout.split()]


class Headers(unittest.TestCase):
    def test_sizes(self):
        for version in HERE:
            with self.subTest(version=version):
                there = structures(include_folder(version), ("cupti_activity.h",))
                kinds = {kind: name for kind, start in STRUCTURES.items() for name in there
                         if re.fullmatch(start + r"\d*", name)}
                self.assertEqual(kinds.keys(), STRUCTURES.keys())
                sizes = evaluate(include_folder(version), [f"sizeof(CUpti_Activity{name})" for name in kinds.values()])
                strides = oracle.ask(oracle.ours(version), "strides")
                self.assertEqual({kind: strides[kind] for kind in kinds}, dict(zip(kinds, sizes)))

    def test_places(self):
        for version in HERE:
            with self.subTest(version=version):
                wanted = list(self.fields(structures(include_folder(version))))
                places = evaluate(include_folder(version),
                                  [f"offsetof(CUpti_Activity{name}, {field})" for name, field, _ in wanted])
                wrong = [(*one, place) for one, place in zip(wanted, places) if one[2] != place]
                self.assertEqual(wrong, [])
                self.assertGreater(len(wanted), 40)

    def test_call_data(self):
        """pp_cupti_call_data (attach/target/gpu/cupti_library.h)."""
        for version in HERE:
            with self.subTest(version=version):
                places = evaluate(include_folder(version), [f"offsetof(CUpti_CallbackData, {field})" for field in (
                    "callbackSite", "functionReturnValue", "correlationId")])
                self.assertEqual(places, [0, 24, 64])

    def fields(self, there):
        """(structure, field, the offset that we assume)"""
        yield "Marker2", "objectId.pt.processId", 24
        yield "Marker2", "objectId.pt.threadId", 28
        for kind, fields in FIELDS.items():
            for name, body in there.items():
                match = re.fullmatch(STRUCTURES[kind] + r"(\d*)", name)
                if match and int(match.group(1) or 1) >= OLDEST.get(STRUCTURES[kind], 1):
                    for ours, offset, _ in fields:
                        if re.search(rf"\b{OUR_NAMES[ours]}\s*;", body):
                            yield name, OUR_NAMES[ours], offset


HERE = [version for version in double.VERSIONS if include_folder(version)]


if __name__ == "__main__":
    if not HERE or not shutil.which("cc"):
        print("CUPTI's headers are not in the cache (./dev setup test fetches them), or there is no C compiler: not tested")
        sys.exit(77)
    unittest.main()

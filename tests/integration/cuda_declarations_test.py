#!/usr/bin/env python3
"""The program's own declarations and tables about CUPTI against each set of real headers in the cache: a file of
_Static_assert about both is compiled. It covers the place and size of every field that the decoder reads, kinds of
records, results, attributes, domains, parameters of calls, and the words for what an operation is.

Exit status 77: no headers, or no C compiler.
"""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import cuda_double_test as double
import cuda_headers_test as headers

COLLECT = double.ROOT / "daemon/collector/gpu"
LIBRARY = "attach/target/gpu/cupti_library.h"

# Fields of GpuRecord and the field of CUPTI's for each. FIELDS_OF has those that have another name in one structure.
FIELDS = {"start": "start", "end": "end", "device": "deviceId", "context": "contextId", "stream": "streamId",
          "correlation": "correlationId", "name": "name", "graph": "graphId", "graph_node": "graphNodeId", "channel": "channelID",
          "registers": "registersPerThread", "grid": "gridX", "grid + 4": "gridY", "grid + 8": "gridZ", "block": "blockX",
          "block + 4": "blockY", "block + 8": "blockZ", "static_shared": "staticSharedMemory",
          "dynamic_shared": "dynamicSharedMemory", "bytes": "bytes", "thread": "threadId", "result": "returnValue",
          "event": "cudaEventId", "priority": "priority", "flags": "flag", "uuid": "uuid.bytes[0]", "uuid + 8": "uuid.bytes[8]",
          "domain": "domain"}
FIELDS_OF = {
    "Memcpy": {"copy_kind": "copyKind", "source": "srcKind", "target": "dstKind"},
    "Memset": {"value": "value", "target": "memoryKind"},
    "API": {"value": "cbid"}, "Synchronization": {"copy_kind": "type"}, "Overhead": {"copy_kind": "overheadKind"},
    "Jit": {"value": "jitEntryType", "copy_kind": "jitOperationType"}, "Context": {"flags": "nullStreamId"},
    "Device": {"bytes": "globalMemorySize", "device": "id", "kWarpSize": "numThreadsPerWarp",
               "kMultiprocessors": "numMultiprocessors", "kWarpsPerMultiprocessor": "maxWarpsPerMultiprocessor",
               "kSharedMemoryPerMultiprocessor": "maxSharedMemoryPerMultiprocessor",
               "kRegistersPerMultiprocessor": "maxRegistersPerMultiprocessor", "kRegistersPerBlock": "maxRegistersPerBlock",
               "kSharedMemoryPerBlock": "maxSharedMemoryPerBlock", "kThreadsPerBlock": "maxThreadsPerBlock",
               "kComputeMajor": "computeCapabilityMajor", "kComputeMinor": "computeCapabilityMinor",
               "is_slice": "isMigEnabled", "gpu_instance": "gpuInstanceId", "compute_instance": "computeInstanceId",
               "slice_uuid": "migUuid.bytes[0]", "slice_uuid + 8": "migUuid.bytes[8]"},
    "Marker": {"start": "timestamp", "value": "id", "source": "objectKind", "process": "objectId.pt.processId",
               "thread": "objectId.pt.threadId", "flags": "flags"}}
FIELDS_OF["MemcpyPtoP"] = FIELDS_OF["Memcpy"]
WIDER = ("uuid.bytes[0]", "uuid.bytes[8]", "migUuid.bytes[0]", "migUuid.bytes[8]")  # read eight bytes at a time

# Enumerators of gpu_record.h and gpu_detail.cc, and CUPTI's.
KINDS = {"kMemcpy": "MEMCPY", "kMemset": "MEMSET", "kDriver": "DRIVER", "kCallsOfDriver": "DRIVER", "kRuntime": "RUNTIME",
         "kCallsOfRuntime": "RUNTIME", "kDevice": "DEVICE", "kContext": "CONTEXT", "kKernel": "CONCURRENT_KERNEL",
         "kConcurrentKernel": "CONCURRENT_KERNEL", "kMarker": "MARKER", "kOverhead": "OVERHEAD", "kMemcpyPeer": "MEMCPY2",
         "kStream": "STREAM", "kSync": "SYNCHRONIZATION", "kSynchronization": "SYNCHRONIZATION", "kGraph": "GRAPH_TRACE",
         "kGraphTrace": "GRAPH_TRACE", "kJit": "JIT"}
# What cupti_library.h declares, by its name after PP_CUPTI_, and CUPTI's names.
RESULTS = {"SUCCESS": "CUPTI_SUCCESS", "INVALID_PARAMETER": "CUPTI_ERROR_INVALID_PARAMETER",
           "NOT_COMPATIBLE": "CUPTI_ERROR_NOT_COMPATIBLE", "NOT_INITIALIZED": "CUPTI_ERROR_NOT_INITIALIZED",
           "VIRTUALIZED_DEVICE": "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED",
           "INSUFFICIENT_PRIVILEGES": "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
           "MULTIPLE_SUBSCRIBERS": "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
           "VIRTUALIZED_PRIVILEGES": "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
           "CONFIDENTIAL_COMPUTING": "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED",
           "CMP_DEVICE": "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED", "MIG_DEVICE": "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED",
           "SLI_DEVICE": "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED", "WSL_DEVICE": "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED",
           "UNKNOWN": "CUPTI_ERROR_UNKNOWN"}
NUMBERS = {"KIND_DRIVER": "CUPTI_ACTIVITY_KIND_DRIVER", "KIND_RUNTIME": "CUPTI_ACTIVITY_KIND_RUNTIME",
           "KIND_CONTEXT": "CUPTI_ACTIVITY_KIND_CONTEXT", "KIND_CONCURRENT_KERNEL": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
           "KIND_MARKER": "CUPTI_ACTIVITY_KIND_MARKER", "KIND_GRAPH": "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
           "KIND_JIT": "CUPTI_ACTIVITY_KIND_JIT",
           "DEVICE_BUFFER_POOL_LIMIT": "CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT",
           "DOMAIN_DRIVER": "CUPTI_CB_DOMAIN_DRIVER_API", "DOMAIN_RUNTIME": "CUPTI_CB_DOMAIN_RUNTIME_API",
           "DOMAIN_STATE": "CUPTI_CB_DOMAIN_STATE", "STATE_FATAL_ERROR": "CUPTI_CBID_STATE_FATAL_ERROR",
           "THREAD_ID_SYSTEM": "CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM", "API_ENTER": "CUPTI_API_ENTER",
           "API_EXIT": "CUPTI_API_EXIT"}
OURS_ALONE = ("NOT_MADE", "SUBSCRIBER_PARAMS_13_0")
CALL_DATA = {"site": "callbackSite", "function": "functionName", "parameters": "functionParams",
             "result": "functionReturnValue", "symbol": "symbolName", "context": "context", "context_id": "contextUid",
             "correlation_data": "correlationData", "correlation": "correlationId"}
SUBSCRIBER = {"size": "structSize", "name": "subscriberName", "other_name": "oldSubscriberName",
              "other_name_size": "oldSubscriberSize", "allow_others": "allowMultipleSubscribers"}
RELEASES = {"11_8": 18, "12_2": 20, "12_5": 23, "12_6": 24, "12_9": 27, "13_0": 130000, "13_3": 130300}
COMPLETE = 28  # from this version on all functions exist except cuptiSubscribe_v2
# Words of gpu_operation_name.cc in the order of CUPTI's numbers, and CUPTI's names of these numbers.
WORDS = {
    "kCopies": ("CUPTI_ACTIVITY_MEMCPY_KIND_", ("UNKNOWN", "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD", "DTOA", "DTOD", "HTOH",
                                                "PTOP")),
    "kMemories": ("CUPTI_ACTIVITY_MEMORY_KIND_", ("UNKNOWN", "PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC",
                                                  "MANAGED_STATIC")),
    "kSyncs": ("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_", ("UNKNOWN", "EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT",
                                                        "STREAM_SYNCHRONIZE", "CONTEXT_SYNCHRONIZE")),
    "kOverheads": ("CUPTI_ACTIVITY_OVERHEAD_", ("UNKNOWN", "CUPTI_BUFFER_FLUSH", "CUPTI_INSTRUMENTATION", "CUPTI_RESOURCE",
                                                "RUNTIME_TRIGGERED_MODULE_LOADING", "LAZY_FUNCTION_LOADING",
                                                "COMMAND_BUFFER_FULL", "ACTIVITY_BUFFER_REQUEST", "UVM_ACTIVITY_INIT")),
    "kCompiled": ("CUPTI_ACTIVITY_JIT_ENTRY_", ("INVALID", "PTX_TO_CUBIN", "NVVM_IR_TO_PTX")),
    "kCompilations": ("CUPTI_ACTIVITY_JIT_OPERATION_", ("INVALID", "CACHE_LOAD", "CACHE_STORE", "COMPILE"))}
MARKER_FLAGS = {"kInstantaneous": "CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS", "kStart": "CUPTI_ACTIVITY_FLAG_MARKER_START",
                "kEnd": "CUPTI_ACTIVITY_FLAG_MARKER_END", "kOfProcess": "CUPTI_ACTIVITY_OBJECT_PROCESS",
                "kOfThread": "CUPTI_ACTIVITY_OBJECT_THREAD"}


def source(name):
    return re.sub(r"//[^\n]*", "", (COLLECT / name).read_text())


def decoder_tables():
    """{kind: (fewest bytes, [(offset, size, field of GpuRecord)…])} of gpu_decoder.cc."""
    text, tables = source("gpu_decoder.cc"), {}
    for table, body in re.findall(r"constexpr Field (k\w+)\[\] = \{(.*?)\};", text, flags=re.S):
        rows = re.findall(r"\{(\d+), (\d+), (?:PP_TO\((\w+)\)( \+ \d+)?|ToLimit\(GpuLimit::(k\w+)\))\}", body)
        assert len(rows) == len(re.findall(r"PP_TO\(|ToLimit\(", body)), table
        tables[table] = [(int(at), int(size), field + more or limit) for at, size, field, more, limit in rows]
    layouts = re.findall(r"\{GpuRecordKind::(k\w+), (\d+), (k\w+)\}", text)
    assert {table for _, _, table in layouts} == tables.keys()
    return {kind: (int(least), tables[table]) for kind, least, table in layouts}


def enumerators(text):
    return dict(re.findall(r"\b(k\w+) = (\d+)[,\s}]", text))


class Assertions:
    """Lines of C about one set of headers."""

    def __init__(self, version):
        self.folder = headers.include_folder(version)
        self.version = int(version)
        self.text = "\n".join(file.read_text(errors="replace") for file in self.folder.glob("cupti*.h"))
        self.lines = []

    def has(self, name):
        return re.search(rf"\b{name}\b", self.text) is not None

    def hold(self, condition, words):
        self.lines.append(f'_Static_assert({condition}, "{words}");')

    def same(self, ours, theirs):
        """Checks that both are equal. False: these headers do not have `theirs`."""
        if self.has(theirs):
            self.hold(f"(long long)({ours}) == (long long)({theirs})", f"{ours} is not {theirs}")
        return self.has(theirs)

    def fails(self):
        """The statements that do not hold."""
        with tempfile.TemporaryDirectory() as place:
            headers.write_cuda_headers(place)
            pathlib.Path(place, "hold.c").write_text("\n".join((
                "#include <cupti_result.h>", "#include <cupti_callbacks.h>", "#include <cupti_activity.h>",
                f'#include "{LIBRARY}"', *self.lines, "")))
            done = subprocess.run(["cc", "-std=gnu11", "-w", "-Werror=int-conversion", "-fsyntax-only", f"-I{place}",
                                   f"-I{self.folder}", f"-I{double.ROOT}",
                                   f'-DPP_ARCHITECTURE="attach/target/shared/arch_{platform.machine()}.h"', f"{place}/hold.c"],
                                  capture_output=True, text=True)
            wrong = [line for line in done.stderr.splitlines() if "error:" in line]
            return wrong or [done.stderr] * (done.returncode != 0)


class Declarations(unittest.TestCase):
    def of_each(self, fill):
        for version in headers.HERE:
            with self.subTest(version=version):
                said = Assertions(version)
                fill(said)
                self.assertEqual(said.fails(), [])
                self.assertGreater(len(said.lines), 2)

    def test_decoder(self):
        """Every field that the newest structure of these headers is long enough for."""
        read = []

        def fill(said):
            there = headers.structures(said.folder, ("cupti_activity.h",))
            for kind, (least, fields) in decoder_tables().items():
                start = headers.STRUCTURES[int(enumerators(source("gpu_record.h"))[kind])]
                structure = max((name for name in there if re.fullmatch(start + r"\d*", name)),
                                key=lambda name: int(name[len(start):] or 1))
                typed, size = f"CUpti_Activity{structure}", f"sizeof(CUpti_Activity{structure})"
                said.hold(f"{least} <= {size}", f"{structure}: shorter than the decoder needs")
                length, = headers.evaluate(said.folder, [size])
                for at, width, ours in fields:
                    if at + width <= length:
                        theirs = FIELDS_OF.get(start, {}).get(ours) or FIELDS[ours]
                        said.hold(f"offsetof({typed}, {theirs}) == {at}", f"{structure}.{theirs} is not at {at}")
                        if theirs not in WIDER:
                            said.hold(f"sizeof((({typed}*)0)->{theirs}) == {width}", f"{structure}.{theirs} has not {width} bytes")
                        read.append((kind, ours))

        self.of_each(fill)
        self.assertEqual({(kind, ours) for kind, (_, fields) in decoder_tables().items() for _, _, ours in fields}, set(read))

    def test_kinds(self):
        def fill(said):
            for file in ("gpu_record.h", "gpu_detail.cc"):
                body, = re.findall(r"enum (?:class GpuRecordKind|Kind) : \w+ \{(.*?)\};", source(file), flags=re.S)
                for ours, number in enumerators(body).items():
                    if ours != "kNone":
                        self.assertTrue(said.same(number, f"CUPTI_ACTIVITY_KIND_{KINDS[ours]}"), ours)

        self.of_each(fill)

    def test_numbers_of_the_shim(self):
        text = re.sub(r"//[^\n]*", "", (double.ROOT / LIBRARY).read_text())
        ours = set(re.findall(r"PP_CUPTI_(\w+) = ", text))
        self.assertEqual(ours, {*RESULTS, *NUMBERS, *OURS_ALONE, *RELEASES})

        def fill(said):
            for name, theirs in {**RESULTS, **NUMBERS}.items():
                is_there = said.same(f"PP_CUPTI_{name}", theirs)
                if said.version >= COMPLETE:
                    self.assertTrue(is_there, f"the headers have no {theirs}")

        self.of_each(fill)
        for release, number in RELEASES.items():
            self.assertRegex(text, rf"PP_CUPTI_{release} = {number},")

    def test_structures_of_the_shim(self):
        def fill(said):
            for ours, theirs in CALL_DATA.items():
                said.hold(f"offsetof(pp_cupti_call_data, {ours}) == offsetof(CUpti_CallbackData, {theirs})", theirs)
                said.hold(f"sizeof(((pp_cupti_call_data*)0)->{ours}) == sizeof(((CUpti_CallbackData*)0)->{theirs})", theirs)
            self.assertEqual(said.has("CUpti_SubscriberParams"), said.version >= 130000)
            for ours, theirs in SUBSCRIBER.items():
                if said.has("CUpti_SubscriberParams") and (said.has(theirs) or ours != "allow_others"):
                    said.hold(f"offsetof(pp_cupti_subscriber_params, {ours}) == offsetof(CUpti_SubscriberParams, {theirs})", theirs)
                    said.hold(f"sizeof(((pp_cupti_subscriber_params*)0)->{ours}) == sizeof(((CUpti_SubscriberParams*)0)->{theirs})",
                              theirs)
            if said.has("CUpti_SubscriberParams"):
                length = "sizeof(pp_cupti_subscriber_params)" if said.version >= 130300 else "PP_CUPTI_SUBSCRIBER_PARAMS_13_0"
                said.hold(f"{length} == CUpti_SubscriberParams_STRUCT_SIZE", "length of CUpti_SubscriberParams")

        self.of_each(fill)

    def test_functions_of_the_shim(self):
        """They must take the arguments that we pass: as many parameters, with numbers and pointers in the same places.
        """
        text = (double.ROOT / LIBRARY).read_text()
        functions = re.findall(r"(NEEDED|OPTIONAL)\((cupti\w+), \((.*?)\)\)\s", text)
        self.assertGreater(len(functions), 15)

        def fill(said):
            for needed, name, parameters in functions:
                is_there = said.has(name)
                self.assertTrue(is_there or (needed == "OPTIONAL" and said.version < 130000), name)
                given = ["(void*)1" if "*" in one or one.startswith("pp_") else f"({one})1"
                         for one in parameters.split(", ") if one != "void"]
                if is_there:
                    said.lines.append(f"void call_{name}(void) {{ {name}({', '.join(given)}); }}")

        self.of_each(fill)

    def test_words(self):
        text = source("gpu_operation_name.cc")
        for table, (_, theirs) in WORDS.items():
            body, = re.findall(rf"{table}\[\] = \{{(.*?)\}};", text, flags=re.S)
            self.assertEqual(len(re.findall(r'"[^"]*"', body)), len(theirs), table)

        def fill(said):
            for table, (start, theirs) in WORDS.items():
                for number, name in enumerate(theirs):
                    said.same(number << (16 if table == "kOverheads" else 0), start + name)  # its numbers are in the upper half
            said.same(1, "CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER")
            for ours, number in enumerators(source("gpu_annotations.cc")).items():
                self.assertTrue(said.same(number, MARKER_FLAGS[ours]))

        self.of_each(fill)
        newest = Assertions(headers.HERE[-1])
        self.assertEqual([start + name for start, names in WORDS.values() for name in names if not newest.has(start + name)], [])

    def test_that_it_can_fail(self):
        said = Assertions(headers.HERE[-1])
        said.same("PP_CUPTI_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
        said.hold("offsetof(pp_cupti_call_data, site) == offsetof(CUpti_CallbackData, functionName)", "places")
        said.lines.append("void call(void) { cuptiActivityFlushAll(); }")
        self.assertEqual(len(said.fails()), 3, said.fails())


if __name__ == "__main__":
    if not headers.HERE or not shutil.which("cc"):
        print("CUPTI's headers are not in the cache (./dev setup test fetches them), or there is no C compiler: not tested")
        sys.exit(77)
    unittest.main()

// The fixed interning ids for the marks of slices in a sequence of GPU operations or calls, shared by TraceWriter and
// TraceReader.
//
// The writer defines them on every sequence all the same, because Perfetto shows their names. A note's number is its
// iid and never changes: add new notes at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "daemon/trace/gpu.h"

namespace ptrace_prof {

// First operations by GpuOperationKind, then calls by GpuApi, then annotations, and what PyTorch runs. The iid is the
// index + 1.
inline constexpr std::array<std::string_view, kGpuOperationKinds + kGpuApis + 4> kGpuCategories = {
    "kernel",  "memcpy", "memset", "sync",   "overhead",        "graph",
    "runtime", "driver", "nvtx",   "cpu_op", "user_annotation", "cpu_instant_event"};
inline constexpr size_t kGpuAnnotationCategory = kGpuOperationKinds + kGpuApis + 1;
inline constexpr size_t kOperatorCategory = kGpuAnnotationCategory + 1;
inline constexpr size_t kRangeCategory = kOperatorCategory + 1;
inline constexpr size_t kAllocationCategory = kRangeCategory + 1;
inline constexpr std::string_view kAllocationName = "[memory]";

enum class GpuNote : uint8_t {
  kNone,
  kCorrelation,
  kShape,  // an interned text, as are the next two
  kPython,
  kStackSource,
  kThread,
  kLaunchDelay,  // nanoseconds from the begin of the launching call to the operation's own
  kBytes,
  kGraph,
  kGraphNode,
  kCopyKind,
  kSource,
  kTarget,
  kValue,
  kSync,
  kEvent,
  kChannel,
  kFunction,
  kResult,
  kDomain,     // an interned text
  kStillOpen,  // 1: the range was still open
  kHandle,     // of an operator, as all that follow
  kSequence,   // + 1
  kForwardThread,
  kTorchThread,
  kScope,
  kEnding,
  kAsync,
  kInputs,     // an interned text
  kCpuMemory,  // signed, as is the next
  kDeviceMemory,
  kAddress,  // of an allocation, as all that follow; its operator is in kHandle
  kChange,   // signed
  kDeviceType,
  kDeviceIndex,  // + 1
  kAllocated,
  kReserved,
  kOverload,  // of an operator; an interned text
  kStorage,   // of an operator; as often as needed
  kWasThere,  // of an allocation
};
inline constexpr size_t kGpuNotes = 40;
// The iid is the index.
inline constexpr std::array<std::string_view, kGpuNotes> kGpuNoteNames = {"",
                                                                          "correlation",
                                                                          "launch",
                                                                          "python",
                                                                          "stack found",
                                                                          "launched by thread",
                                                                          "launch delay ns",
                                                                          "bytes",
                                                                          "graph",
                                                                          "node",
                                                                          "copy",
                                                                          "from",
                                                                          "to",
                                                                          "value",
                                                                          "sync",
                                                                          "event",
                                                                          "channel",
                                                                          "cbid",
                                                                          "result",
                                                                          "domain",
                                                                          "went on at the end",
                                                                          "record function id",
                                                                          "sequence number + 1",
                                                                          "forward thread",
                                                                          "torch thread",
                                                                          "scope",
                                                                          "end",
                                                                          "async",
                                                                          "inputs",
                                                                          "CPU memory",
                                                                          "device memory",
                                                                          "address",
                                                                          "bytes allocated",
                                                                          "device type",
                                                                          "device index + 1",
                                                                          "allocated in all",
                                                                          "reserved in all",
                                                                          "overload",
                                                                          "storage",
                                                                          "was there before"};

// The first interned texts, by GpuStackSource; the first has none. The iid is the index.
inline constexpr std::array<std::string_view, kGpuStackSources> kGpuStackSourceTexts = {
    "", "exact", "sampled (approximate)", "backward of", "at the launch"};

}  // namespace ptrace_prof

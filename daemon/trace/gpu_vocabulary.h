// The fixed interning ids of a sequence of GPU operations or calls: what TraceWriter and TraceReader agree on for the
// marks of slices.
//
// The writer still defines them on every sequence, because Perfetto shows their names. A note's number is its iid, for
// ever: new ones are added at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "daemon/trace/gpu.h"

namespace ptrace_prof {

// Of operations by GpuOperationKind, then of calls by GpuApi, then of annotations. The iid is the index + 1.
inline constexpr std::array<std::string_view, kGpuOperationKinds + kGpuApis + 1> kGpuCategories = {
    "kernel", "memcpy", "memset", "sync", "overhead", "graph", "runtime", "driver", "nvtx"};
inline constexpr size_t kGpuAnnotationCategory = kGpuCategories.size();

enum class GpuNote : uint8_t {
  kNone,
  kCorrelation,
  kShape,  // an interned text, as are the next two
  kPython,
  kStackSource,
  kThread,
  kLaunchDelay,  // nanoseconds from the begin of the launching call to its own
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
  kStillOpen,  // 1: the range went on
};
inline constexpr size_t kGpuNotes = 21;
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
                                                                          "went on at the end"};

// The first interned texts. By GpuStackSource; the first has none. The iid is the index.
inline constexpr std::array<std::string_view, kGpuStackSources> kGpuStackSourceTexts = {
    "", "exact", "sampled (approximate)", "backward of", "at the launch"};

}  // namespace ptrace_prof

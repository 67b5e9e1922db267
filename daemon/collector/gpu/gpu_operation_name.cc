#include "daemon/collector/gpu/gpu_operation_name.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

namespace ptrace_prof {
namespace {

constexpr std::string_view kCopies[] = {"?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr std::string_view kMemories[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                          "Array",   "Managed",  "Device Static", "Managed Static"};
constexpr std::string_view kSyncs[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
// By the upper half of the number. The driver's compiler uses the lower half.
constexpr std::string_view kOverheads[] = {"Overhead",
                                           "Buffer Flush",
                                           "Instrumentation",
                                           "Resource",
                                           "Runtime Triggered Module Loading",
                                           "Lazy Function Loading",
                                           "Command Buffer Full",
                                           "Activity Buffer Request",
                                           "UVM Activity Init"};

// Compilation at the first use of a kernel: input and output, then the use of the cache.
constexpr std::string_view kCompiled[] = {"JIT", "JIT PTX to cubin", "JIT NVVM IR to PTX"};
constexpr std::string_view kCompilations[] = {"", " (cache load)", " (cache store)", " (compile)"};

std::string_view At(std::span<const std::string_view> words, uint32_t index) {
  return words[index < words.size() ? index : 0];
}

}  // namespace

std::string GpuOperationName(const GpuRecord& record) {
  switch (record.kind) {
    case GpuRecordKind::kMemcpy:
    case GpuRecordKind::kMemcpyPeer:
      return fmt::format("Memcpy {} ({} -> {})", At(kCopies, record.copy_kind), At(kMemories, record.source),
                         At(kMemories, record.target));
    case GpuRecordKind::kMemset: return fmt::format("Memset ({})", At(kMemories, record.target));
    case GpuRecordKind::kSync: return std::string(At(kSyncs, record.copy_kind));
    case GpuRecordKind::kOverhead:
      return record.copy_kind == 1 ? "Driver Compiler" : std::string(At(kOverheads, record.copy_kind >> 16));
    case GpuRecordKind::kJit:
      return fmt::format("{}{}", At(kCompiled, record.value), At(kCompilations, record.copy_kind));
    case GpuRecordKind::kGraph: return fmt::format("Graph {}", record.graph);
    default: return "?";
  }
}

}  // namespace ptrace_prof

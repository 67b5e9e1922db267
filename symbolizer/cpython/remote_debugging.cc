#include "symbolizer/cpython/remote_debugging.h"

#include <fmt/format.h>

#include <algorithm>

#include "symbolizer/cpython/debug_offsets_table.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kHeaderBytes = 24;  // of _Py_DebugOffsets: cookie, version, free-threaded flag
constexpr uint64_t kLargestInterpreter = 1 << 20;

}  // namespace

Result<bool> RemoteDebuggingAllowed(RemoteMemory& memory, const PythonProcess& process, RemoteAddr interpreter) {
  const auto entries = DebugOffsetsEntries(process.layout.version);
  const auto entry = std::ranges::find(entries, "debugger_support.remote_debugging_enabled", &DebugOffsetsEntry::name);
  if (entry == entries.end()) {
    return true;
  }
  const auto index = static_cast<uint64_t>(entry - entries.begin());
  uint64_t offset = 0;
  uint32_t enabled = 0;
  const bool read =
      memory.ReadValue(process.runtime + kHeaderBytes + index * sizeof offset, &offset) == ReadStatus::kOk &&
      offset < kLargestInterpreter && memory.ReadValue(interpreter + offset, &enabled) == ReadStatus::kOk;
  if (!read || enabled > 1) {
    return Error{Code::kDataLoss,
                 fmt::format("the target (CPython {}) does not say whether it may be debugged", process.version_text),
                 ""};
  }
  return enabled == 1;
}

}  // namespace ptrace_prof

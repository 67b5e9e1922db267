#include "symbolizer/cpython/remote_debugging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "symbolizer/cpython/debug_offsets_table.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kHeaderBytes = 24;  // header of _Py_DebugOffsets: cookie, version, free-threaded flag
constexpr uint64_t kLargestInterpreter = 1 << 20;
constexpr uint64_t kLargestThread = 1 << 16;
constexpr uint64_t kPleaseStopBit = 1 << 5;  // _PY_EVAL_PLEASE_STOP_BIT, as set by sys.remote_exec
constexpr uint32_t kLeastPathBytes = 64;

enum class Field { kOfAVersionWithout, kUnreadable, kRead };

// A value of the group debugger_support of _Py_DebugOffsets.
Field ReadField(RemoteMemory& memory, const PythonProcess& process, std::string_view name, uint64_t* value) {
  const auto entries = DebugOffsetsEntries(process.layout.version);
  const auto entry = std::ranges::find(entries, name, &DebugOffsetsEntry::name);
  if (entry == entries.end()) {
    return Field::kOfAVersionWithout;
  }
  const auto index = static_cast<uint64_t>(entry - entries.begin());
  const ReadStatus read = memory.ReadValue(process.runtime + kHeaderBytes + index * sizeof *value, value);
  return read == ReadStatus::kOk ? Field::kRead : Field::kUnreadable;
}

Error Implausible(const PythonProcess& process, std::string_view what) {
  return {Code::kDataLoss, fmt::format("the target (CPython {}) does not show {}", process.version_text, what), ""};
}

// Whether the newest thread looks like such an element: the waiting flag is 0 or 1, and the path is terminated.
bool BearsOut(RemoteMemory& memory, const ScriptRequests& requests) {
  uint64_t first = 0;
  uint64_t owner = 0;
  int32_t waits = 0;
  std::vector<char> path(requests.path_bytes);
  if (memory.ReadValue(requests.list_head, &first) != ReadStatus::kOk ||
      memory.ReadValue(RemoteAddr(first) + requests.list_owner, &owner) != ReadStatus::kOk ||
      memory.ReadValue(RemoteAddr(first) + requests.waits, &waits) != ReadStatus::kOk ||
      memory.Read(RemoteAddr(first) + requests.path, path.data(), path.size()) != ReadStatus::kOk) {
    return false;
  }
  return owner == requests.owner.value && (waits == 0 || waits == 1) && std::ranges::find(path, '\0') != path.end();
}

}  // namespace

Result<bool> RemoteDebuggingAllowed(RemoteMemory& memory, const PythonProcess& process, RemoteAddr interpreter) {
  uint64_t offset = 0;
  uint32_t enabled = 0;
  switch (ReadField(memory, process, "debugger_support.remote_debugging_enabled", &offset)) {
    case Field::kOfAVersionWithout: return true;
    case Field::kUnreadable: offset = kLargestInterpreter; break;
    case Field::kRead: break;
  }
  if (offset >= kLargestInterpreter || memory.ReadValue(interpreter + offset, &enabled) != ReadStatus::kOk ||
      enabled > 1) {
    return Implausible(process, "whether it may be debugged");
  }
  return enabled == 1;
}

Result<std::optional<ScriptRequests>> FindScriptRequests(RemoteMemory& memory, const PythonProcess& process,
                                                         RemoteAddr interpreter) {
  constexpr std::string_view kNames[] = {"debugger_support.eval_breaker", "debugger_support.remote_debugger_support",
                                         "debugger_support.debugger_pending_call",
                                         "debugger_support.debugger_script_path",
                                         "debugger_support.debugger_script_path_size"};
  uint64_t values[std::size(kNames)] = {};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    const Field field = ReadField(memory, process, kNames[i], &values[i]);
    if (field == Field::kOfAVersionWithout) {
      return std::optional<ScriptRequests>();
    }
    if (field == Field::kUnreadable || values[i] >= kLargestThread) {
      return Implausible(process, "where its threads accept scripts");
    }
  }
  const Layout& layout = process.layout;
  ScriptRequests requests;
  requests.list_head = interpreter + layout.interp_threads_head;
  requests.list_next = layout.thread_next;
  requests.list_owner = layout.thread_interp;
  requests.owner = interpreter;
  requests.breaker = static_cast<uint32_t>(values[0]);
  requests.breaker_bit = kPleaseStopBit;
  requests.waits = static_cast<uint32_t>(values[1] + values[2]);
  requests.path = static_cast<uint32_t>(values[1] + values[3]);
  requests.path_bytes = static_cast<uint32_t>(values[4]);
  const bool fits = requests.path_bytes >= kLeastPathBytes && requests.path_bytes <= kMaxScriptPathBytes &&
                    requests.waits + sizeof(int32_t) <= requests.path;
  if (!fits || !BearsOut(memory, requests)) {
    return Implausible(process, "where its threads accept scripts");
  }
  return std::optional(requests);
}

}  // namespace ptrace_prof

#include "symbolizer/cpython/runtime_check.h"

namespace ptrace_prof {
namespace {

constexpr int kMaxChecked = 4096;
constexpr uint64_t kAddressEnd = uint64_t{1}
                                 << 47;  // of user space, on x86-64 and aarch64 alike (48 bits there at most)

bool IsPointer(uint64_t value) { return value >= 4096 && value < 2 * kAddressEnd && value % 8 == 0; }

enum class InterpreterState : uint8_t { kHasThread, kNoThread, kNonsense };

InterpreterState CheckInterpreter(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter) {
  uint64_t thread = 0;
  if (memory.ReadValue(interpreter + layout.interp_threads_head, &thread) != ReadStatus::kOk) {
    return InterpreterState::kNonsense;
  }
  if (thread == 0) {
    return InterpreterState::kNoThread;
  }
  uint64_t back = 0;
  if (!IsPointer(thread) || memory.ReadValue(RemoteAddr(thread) + layout.thread_interp, &back) != ReadStatus::kOk ||
      RemoteAddr(back) != interpreter) {
    return InterpreterState::kNonsense;
  }
  return InterpreterState::kHasThread;
}

}  // namespace

RuntimeState CheckRuntime(RemoteMemory& memory, const Layout& layout, RemoteAddr runtime) {
  uint64_t head = 0;
  uint64_t main = 0;
  uint64_t finalizing = 0;
  if (memory.ReadValue(runtime + layout.runtime_interpreters_head, &head) != ReadStatus::kOk ||
      memory.ReadValue(runtime + layout.runtime_interpreters_main, &main) != ReadStatus::kOk ||
      memory.ReadValue(runtime + layout.runtime_finalizing, &finalizing) != ReadStatus::kOk) {
    return RuntimeState::kNotARuntime;
  }
  if (head == 0) {
    return finalizing != 0 ? RuntimeState::kEnding : RuntimeState::kNotStarted;
  }
  bool has_main = false;
  bool has_thread = false;
  uint64_t at = head;
  for (int i = 0; at != 0 && i < kMaxChecked; ++i) {
    const RemoteAddr interpreter(at);
    const auto state = IsPointer(at) ? CheckInterpreter(memory, layout, interpreter) : InterpreterState::kNonsense;
    if (state == InterpreterState::kNonsense ||
        memory.ReadValue(interpreter + layout.interp_next, &at) != ReadStatus::kOk) {
      break;  // its end, or a list that changes meanwhile: use what was seen so far
    }
    has_main |= interpreter.value == main;
    has_thread |= state == InterpreterState::kHasThread;
  }
  if (!has_main) {
    return RuntimeState::kNotARuntime;
  }
  if (finalizing != 0) {
    return RuntimeState::kEnding;
  }
  return has_thread ? RuntimeState::kRunning : RuntimeState::kNotStarted;
}

}  // namespace ptrace_prof

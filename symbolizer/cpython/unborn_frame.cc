#include "symbolizer/cpython/unborn_frame.h"

namespace ptrace_prof {
namespace {

constexpr uint8_t kOwnedByThread = 0;     // FRAME_OWNED_BY_THREAD, in all versions with owners
constexpr uint64_t kMostBeginning = 256;  // bytes of code that make cells, one instruction for each

}  // namespace

bool IsUnborn(RemoteMemory& memory, const Layout& layout, const RawFrame& frame) {
  // A thread of a free-threaded build may run a copy of the instructions: the other checks must suffice there.
  const bool may_be_copy = layout.Has(&Layout::code_tlbc);
  if (!layout.Has(&Layout::frame_owner) || !layout.Has(&Layout::code_instructions) ||
      (!may_be_copy && frame.instruction > frame.code + layout.code_instructions + kMostBeginning)) {
    return false;
  }
  uint8_t owner = 0;
  uint32_t flags = 0;
  return memory.ReadValue(RemoteAddr(frame.address) + layout.frame_owner, &owner) == ReadStatus::kOk &&
         owner == kOwnedByThread &&
         memory.ReadValue(RemoteAddr(frame.code) + layout.code_flags, &flags) == ReadStatus::kOk && MaySuspend(flags);
}

}  // namespace ptrace_prof

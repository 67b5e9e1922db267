#include "daemon/collector/gpu/gpu_engine_wait.h"

#include <algorithm>
#include <string_view>

namespace ptrace_prof {
namespace {

constexpr uint32_t kLookDeep = 16;  // frames: the engine's wait is at or near the leaf
constexpr std::string_view kEngineWait = "_engine_run_backward";

}  // namespace

std::optional<StackId> GpuEngineWait::CallerOfWait(StackId stack) const {
  for (uint32_t i = 0; i < kLookDeep && stack != kEmptyStack; ++i, stack = stacks_.parent(stack)) {
    if (stacks_.frame(stacks_.leaf(stack)).function.ends_with(kEngineWait)) {
      return stacks_.parent(stack);
    }
  }
  return std::nullopt;
}

// Threads called from one place may be at different points within the wait. Any of them will do, so the smallest id is
// taken.
void GpuEngineWait::Look(StackId stack) {
  const std::optional<StackId> caller = CallerOfWait(stack);
  if (!caller) {
    return;
  }
  is_ambiguous_ |= found_ != kEmptyStack && *caller != caller_;
  found_ = found_ == kEmptyStack ? stack : std::min(found_, stack);
  caller_ = *caller;
}

}  // namespace ptrace_prof

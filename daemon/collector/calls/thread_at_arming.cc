#include "daemon/collector/calls/thread_at_arming.h"

#include <algorithm>

#include "symbolizer/cpython/unborn_frame.h"

namespace ptrace_prof {
namespace {

// Drops frames that are being made, as their ends are never reported. Finalizers may run on top of one, seldom more
// than a few frames.
void DropUnborn(const ThreadsToArm& from, std::vector<RawFrame>& frames) {
  constexpr size_t kMostLooked = 32;
  for (size_t i = std::min(frames.size(), kMostLooked); i-- > 0;) {
    if (IsUnborn(from.memory, from.layout, frames[i])) {
      frames.erase(frames.begin() + static_cast<ptrdiff_t>(i));
    }
  }
}

void CopyModules(const ThreadsToArm& from, ThreadAtArming& thread) {
  for (size_t i = 0; !from.self_codes.empty() && i < thread.frames.size(); ++i) {
    const RawFrame& frame = thread.frames[i];
    uint64_t self = 0;
    if (std::ranges::find(from.self_codes, RemoteAddr(frame.code)) != from.self_codes.end() &&
        from.memory.ReadValue(RemoteAddr(frame.address) + from.layout.frame_locals, &self) == ReadStatus::kOk) {
      thread.modules.push_back({i, RemoteAddr(self & ~from.layout.frame_tag_mask)});
    }
  }
}

}  // namespace

std::optional<ThreadAtArming> CopyThread(const ThreadsToArm& from, const ThreadEntry& entry, RemoteAddr interpreter,
                                         Nanos deadline) {
  ThreadTrack* track = from.roster.Find(entry.state.value);
  std::optional<ThreadStack> unknown;
  if (track == nullptr) {
    unknown.emplace(from.layout, entry.state, interpreter, from.max_depth);
  }
  ThreadStack& stack = track != nullptr ? track->stack : *unknown;
  const CollectStatus status = stack.ReadAgain(from.memory, deadline);
  if (status == CollectStatus::kGone || status == CollectStatus::kNoState) {
    return std::nullopt;
  }
  ThreadAtArming thread{entry, stack.frames(), {}, status == CollectStatus::kWhole};
  DropUnborn(from, thread.frames);
  CopyModules(from, thread);
  return thread;
}

}  // namespace ptrace_prof

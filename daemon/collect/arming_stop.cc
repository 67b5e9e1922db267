#include "daemon/collect/arming_stop.h"

#include <algorithm>
#include <optional>

#include "attach/ptrace/stopped_threads.h"
#include "symbolizer/cpython/unborn_frame.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kMoment = Nanos::FromMillis(5);

// Their ends are never told. Finalizers may run on top of one, seldom more than a few frames.
void DropUnborn(const ThreadsToArm& from, std::vector<RawFrame>& frames) {
  constexpr size_t kMostLooked = 32;
  for (size_t i = std::min(frames.size(), kMostLooked); i-- > 0;) {
    if (IsUnborn(from.memory, from.layout, frames[i])) {
      frames.erase(frames.begin() + static_cast<ptrdiff_t>(i));
    }
  }
}

void CopyModules(const ThreadsToArm& from, ThreadAtArming& thread) {
  for (size_t i = 0; !from.module_codes.empty() && i < thread.frames.size(); ++i) {
    const RawFrame& frame = thread.frames[i];
    uint64_t self = 0;
    if (std::ranges::find(from.module_codes, RemoteAddr(frame.code)) != from.module_codes.end() &&
        from.memory.ReadValue(RemoteAddr(frame.address) + from.layout.frame_locals, &self) == ReadStatus::kOk) {
      thread.modules.push_back({i, RemoteAddr(self & ~from.layout.frame_tag_mask)});
    }
  }
}

void CopyStack(const ThreadsToArm& from, const ThreadEntry& entry, RemoteAddr interpreter, ArmingStop& stop) {
  ThreadTrack* track = from.roster.Find(entry.state.value);
  std::optional<ThreadStack> unknown;
  if (track == nullptr) {
    unknown.emplace(from.layout, entry.state, interpreter, from.max_depth);
  }
  ThreadStack& stack = track != nullptr ? track->stack : *unknown;
  const CollectStatus status = stack.ReadAgain(from.memory);
  if (status != CollectStatus::kGone && status != CollectStatus::kNoState) {
    stop.threads.push_back({entry, stack.frames(), {}, status == CollectStatus::kWhole});
    DropUnborn(from, stop.threads.back().frames);
    CopyModules(from, stop.threads.back());
  }
}

void CopyStacks(const ThreadsToArm& from, ArmingStop& stop) {
  std::vector<ThreadEntry> entries;
  for (const InterpreterView& view : from.watch.interpreters()) {
    if (view.entry.id != kMainInterpreter) {
      continue;  // the stub is in the main one alone
    }
    entries.clear();
    bool complete = true;  // nobody can change the lists now
    (void)ReadThreads(from.memory, from.layout, view.entry.address, &entries, &complete, ThreadList::kStandsStill);
    for (const ThreadEntry& entry : entries) {
      CopyStack(from, entry, view.entry.address, stop);
    }
  }
}

Result<ArmingStop> StopAndArm(const ThreadsToArm& threads, const std::function<Result<void>()>& arm) {
  ArmingStop stop;
  stop.threads.reserve(threads.roster.tracks().size());
  const Nanos begin = MonotonicNow();
  PP_ASSIGN_OR_RETURN(const StoppedThreads stopped, StoppedThreads::StopAllAtOnce(threads.pid, kMoment, nullptr));
  stop.when = MonotonicNow();
  CopyStacks(threads, stop);
  PP_RETURN_IF_ERROR(arm());
  stop.stopped = MonotonicNow() - begin;
  return stop;
}

}  // namespace

Result<ArmingStop> ArmUnderStop(const ThreadsToArm& threads, const std::function<Result<void>()>& arm) {
  auto stop = StopAndArm(threads, arm);
  StoppedThreads::ReleaseLate();
  return stop;
}

}  // namespace ptrace_prof

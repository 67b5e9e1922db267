#include "daemon/collect/arming_stop.h"

#include "attach/ptrace/stopped_threads.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kPatience = Nanos::FromMillis(500);

Result<ArmingStop> StopAndArm(Pid pid, RemoteMemory& memory, ThreadRoster& roster,
                              const std::function<Result<void>()>& arm) {
  ArmingStop stop;
  stop.threads.reserve(roster.tracks().size());
  const Nanos begin = MonotonicNow();
  PP_ASSIGN_OR_RETURN(const StoppedThreads stopped, StoppedThreads::StopAll(pid, kPatience));
  stop.when = MonotonicNow();
  for (const auto& track : roster.tracks()) {
    const CollectStatus status = track->stack.ReadAgain(memory, false);
    if (status == CollectStatus::kGone || status == CollectStatus::kNoState) {
      continue;
    }
    stop.threads.push_back({track.get(), track->stack.frames(), status == CollectStatus::kWhole});
  }
  PP_RETURN_IF_ERROR(arm());
  stop.stopped = MonotonicNow() - begin;
  return stop;
}

}  // namespace

Result<ArmingStop> ArmUnderStop(Pid pid, RemoteMemory& memory, ThreadRoster& roster,
                                const std::function<Result<void>()>& arm) {
  auto stop = StopAndArm(pid, memory, roster, arm);
  StoppedThreads::ReleaseLate();
  return stop;
}

}  // namespace ptrace_prof

#include "daemon/collect/arming_stop.h"

#include <optional>

#include "attach/ptrace/stopped_threads.h"
#include "daemon/collect/arming_at_holder.h"
#include "daemon/collect/thread_at_arming.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kMoment = Nanos::FromMillis(5);
constexpr size_t kMostAtOnce = 64;  // threads: to stop one takes some 10 to 60 us, for which the first ones stand

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
      if (auto thread = CopyThread(from, entry, view.entry.address)) {
        stop.threads.push_back(*std::move(thread));
      }
    }
  }
}

Result<ArmingStop> StopAndArm(const ThreadsToArm& threads, const std::function<Result<void>()>& arm) {
  ArmingStop stop;
  stop.threads.reserve(threads.roster.tracks().size());
  for (const auto& track : threads.roster.tracks()) {  // so that one read is enough then, however deep it is
    (void)track->stack.ReadAgain(threads.memory);
  }
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
  if (threads.roster.tracks().size() > kMostAtOnce) {
    PP_ASSIGN_OR_RETURN(std::optional<ArmingStop> stop, ArmAtHolder(threads, arm));
    if (stop.has_value()) {
      return *std::move(stop);
    }
  }
  auto stop = StopAndArm(threads, arm);
  StoppedThreads::ReleaseLate();
  return stop;
}

}  // namespace ptrace_prof

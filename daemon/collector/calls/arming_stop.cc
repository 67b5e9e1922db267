#include "daemon/collector/calls/arming_stop.h"

#include <optional>

#include "attach/base/real_time.h"
#include "attach/inject/timed_stop.h"
#include "attach/ptrace/stopped_threads.h"
#include "daemon/collector/calls/arming_at_holder.h"
#include "daemon/collector/calls/thread_at_arming.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kMoment = Nanos::FromMillis(5);

void CopyStacks(const ThreadsToArm& from, ArmingStop& stop) {
  const Nanos deadline = MonotonicNow() + kLongestRead;
  std::vector<ThreadEntry> entries;
  for (const InterpreterView& view : from.watch.interpreters()) {
    if (view.entry.id != kMainInterpreter) {
      continue;  // the stub is only in the main interpreter
    }
    entries.clear();
    bool complete = true;  // no thread can change the lists now
    (void)ReadThreads(from.memory, from.layout, view.entry.address, &entries, &complete, ThreadList::kStandsStill);
    for (const ThreadEntry& entry : entries) {
      if (auto thread = CopyThread(from, entry, view.entry.address, deadline)) {
        stop.threads.push_back(*std::move(thread));
      }
    }
  }
}

Result<ArmingStop> StopAndArm(const ThreadsToArm& threads, const std::function<Result<void>()>& arm) {
  const UrgentPriority urgent;
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

// Prepares the stacks so that one read of each suffices during the stop, however deep it is. Returns their pieces of
// memory.
size_t PrimeAll(const ThreadsToArm& threads) {
  size_t pieces = 0;
  for (const auto& track : threads.roster.tracks()) {
    (void)track->stack.ReadAgain(threads.memory);
    track->stack.Prime(threads.memory);
    pieces += track->stack.pieces();
  }
  return pieces;
}

}  // namespace

Result<ArmingStop> ArmUnderStop(const ThreadsToArm& threads, const std::function<Result<void>()>& arm) {
  const bool are_many = threads.roster.tracks().size() > kMostStoppedAtOnce;
  if (are_many || PrimeAll(threads) > kMostPieces) {
    PP_ASSIGN_OR_RETURN(std::optional<ArmingStop> stop, ArmAtHolder(threads, arm));
    if (stop.has_value()) {
      return *std::move(stop);
    }
  }
  if (are_many) {
    PrimeAll(threads);
  }
  auto stop = StopAndArm(threads, arm);
  StoppedThreads::ReleaseLate();
  return stop;
}

}  // namespace ptrace_prof

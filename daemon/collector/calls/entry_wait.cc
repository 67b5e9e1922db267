#include "daemon/collector/calls/entry_wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kLookForEntryEvery = Nanos::FromMillis(10);
constexpr uint32_t kLeastLooks = 20;

}  // namespace

EntryWait::EntryWait(const CaptureTask& request, RemoteMemory& memory, const PythonProcess& python, Nanos asked_at)
    : request_(request), memory_(memory), python_(python), asked_at_(asked_at), begin_(MonotonicNow()) {}

bool EntryWait::Look(Nanos now) {
  if (!error_ && now >= next_) {
    next_ = now + kLookForEntryEvery;
    ++seen_[static_cast<size_t>(WhoRuns())];
    Judge(now);
  }
  return !error_.has_value();
}

// If several threads run, the one through which we could enter. Up to CPython 3.11 a thread that goes on in a
// subinterpreter keeps the GIL, which still names its state in the main one. Such a thread runs in the newest
// interpreter in which it has frames.
EntryWait::Runner EntryWait::WhoRuns() {
  Runner found = Runner::kNobody;
  std::vector<InterpreterEntry> interpreters;
  if (ReadInterpreters(memory_, python_.layout, python_.runtime, &interpreters) != ReadStatus::kOk) {
    return found;
  }
  std::vector<uint64_t> in_subinterpreters;  // threads; the newest interpreter comes first, the main one last
  for (const InterpreterEntry& one : interpreters) {
    uint64_t holder = 0;
    int32_t locked = 0;
    std::vector<ThreadEntry> threads;
    bool complete = false;
    if (one.gil.IsNull() || memory_.ReadValue(one.gil + python_.layout.gil_locked, &locked) != ReadStatus::kOk ||
        memory_.ReadValue(one.gil + python_.layout.gil_last_holder, &holder) != ReadStatus::kOk || locked != 1 ||
        ReadThreads(memory_, python_.layout, one.address, &threads, &complete) != ReadStatus::kOk || !complete) {
      continue;
    }
    if (one.id != kMainInterpreter) {
      for (const ThreadEntry& entry : threads) {
        found = entry.state.value == holder ? Runner::kSubinterpreter : found;
        if (entry.has_frames) {
          in_subinterpreters.push_back(entry.ident);
        }
      }
      continue;
    }
    const auto its = std::ranges::find(threads, RemoteAddr(holder), &ThreadEntry::state);
    if (its == threads.end()) {
      continue;  // a thread of another interpreter, if they share a GIL
    }
    if (std::ranges::find(in_subinterpreters, its->ident) != in_subinterpreters.end()) {
      return Runner::kSubinterpreter;
    }
    return its + 1 == threads.end() ? Runner::kMainThread : Runner::kOtherThread;
  }
  return found;
}

void EntryWait::Judge(Nanos now) {
  const auto seen = [this](Runner runner) { return seen_[static_cast<size_t>(runner)]; };
  const uint32_t subinterpreter = seen(Runner::kSubinterpreter), other = seen(Runner::kOtherThread);
  const uint32_t nobody = seen(Runner::kNobody), main_thread = seen(Runner::kMainThread);
  const uint32_t looks = subinterpreter + other + nobody + main_thread;
  const bool is_long = now - begin_ >= kPatience && looks >= kLeastLooks;
  const int32_t pid = TargetOf(request_).value;
  constexpr char kSample[] = "Sample it instead (record without --mode trace).";
  if (is_long && subinterpreter > looks / 2 && main_thread + other < looks / 10) {
    error_ = Because(
        Reason::kTargetIdle,
        fmt::format("process {} now runs Python only in a subinterpreter, and only the main interpreter can be traced",
                    pid),
        kSample, ThingOf(TargetOf(request_)));
  } else if (is_long && !FactsOf(python_.layout.version).any_thread_calls && other > looks / 2 &&
             main_thread < looks / 10) {
    error_ = Because(Reason::kTargetIdle,
                     fmt::format("the main thread of process {} waits, and no other thread calls a Python function: "
                                 "outside the main thread, CPython {} can start tracing only at a call",
                                 pid, python_.version_text),
                     kSample, ThingOf(TargetOf(request_)));
  } else if (DurationOf(request_).value > 0 && now - asked_at_ >= std::max(DurationOf(request_), kPatience)) {
    error_ = Because(Reason::kTargetIdle,
                     fmt::format("process {} ran no Python code in its main interpreter for {:g} s: nothing was traced",
                                 pid, std::max(DurationOf(request_), kPatience).seconds()),
                     "Give it more time (--duration), try again when it is busy, or sample instead.",
                     ThingOf(TargetOf(request_)));
  }
}

}  // namespace ptrace_prof

#include "attach/ptrace/late_threads.h"

#include <vector>

#include "attach/ptrace/tracee.h"

namespace ptrace_prof {
namespace {

std::vector<Tid>& LateThreads() {
  thread_local std::vector<Tid> threads;
  return threads;
}

// True if the thread is not our business any more.
bool Release(Tid tid) {
  const TraceeStatus status = LookAtTracee(tid);
  switch (status.state) {
    case TraceeState::kRunning: return false;
    case TraceeState::kInterrupted:
    case TraceeState::kGroupStopped:
    case TraceeState::kSignalStopped:
    case TraceeState::kEventStopped: return DetachTracee(tid, status.signal);
    case TraceeState::kDead: ReapTracee(tid); return true;
    case TraceeState::kNotTraced: return true;
  }
  return true;
}

}  // namespace

void AddLateThread(Tid tid) { LateThreads().push_back(tid); }

bool TakeLateThread(Tid tid) { return std::erase(LateThreads(), tid) > 0; }

size_t ReleaseLateThreads() {
  std::vector<Tid>& threads = LateThreads();
  std::erase_if(threads, Release);
  return threads.size();
}

}  // namespace ptrace_prof

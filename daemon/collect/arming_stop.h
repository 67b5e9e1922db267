// The one moment between a stub that is installed and one that records: every stack as it is then.
//
// All threads of the process are stopped once, the stacks of the roster's threads are read raw, `arm` is called, and
// the threads go on: what happens afterwards is recorded, what happened before is in the stacks. Nothing is named or
// written out meanwhile. The roster must be fresh: a thread that began since then has an empty stack here.
// Call from the capture's thread.
#pragma once

#include <functional>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collect/thread_roster.h"

namespace ptrace_prof {

struct ThreadAtArming {
  ThreadTrack* track = nullptr;
  std::vector<RawFrame> frames;  // leaf first
  bool is_whole = true;          // false: cut at the depth limit, or the chain made no sense
};

struct ArmingStop {
  std::vector<ThreadAtArming> threads;
  Nanos when;     // all threads stood
  Nanos stopped;  // for how long
};

// kDeadlineExceeded: a thread did not stop in time; nothing was armed. Other errors as StoppedThreads::StopAll, or
// arm's.
Result<ArmingStop> ArmUnderStop(Pid pid, RemoteMemory& memory, ThreadRoster& roster,
                                const std::function<Result<void>()>& arm);

}  // namespace ptrace_prof

// The one moment between a stub that is installed and one that records: every stack as it is then.
//
// All threads of the process are stopped once (of many, where there is a GIL, its holder alone: arming_at_holder.h),
// the main interpreter's list of threads and the stack of each are read raw, `arm` is called, and the threads go on:
// what happens afterwards is recorded, what happened before is in the stacks. Nothing is named or written out
// meanwhile. Who is there is read during the stop and not before: threads begin and end while the others are being
// stopped, and a new one may have the thread state's address of one that ended. The roster only says where the frames
// of those that it knows were lately. Call from the capture's thread.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/target/interpreter_watch.h"
#include "daemon/collector/target/thread_roster.h"
#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

struct CalledModule {
  size_t frame;     // whose code is one of module_codes
  RemoteAddr self;  // its first local
};

struct ThreadAtArming {
  ThreadEntry entry;                  // the roster may not know it
  std::vector<RawFrame> frames;       // leaf first, without such as are being made (unborn_frame.h)
  std::vector<CalledModule> modules;  // that some of them call
  bool is_whole = true;               // false: cut at the depth limit, or the chain made no sense
};

// Where threads are found.
struct ThreadsToArm {
  Pid pid;
  RemoteMemory& memory;
  const Layout& layout;
  InterpreterWatch& watch;
  ThreadRoster& roster;
  uint32_t max_depth;
  std::span<const RemoteAddr> module_codes;
};

struct ArmingStop {
  std::vector<ThreadAtArming> threads;
  Nanos when;     // all threads stood
  Nanos stopped;  // for how long
};

// kDeadlineExceeded: a thread did not stop in time; nothing was armed. Other errors as StoppedThreads::StopAll, or
// arm's.
Result<ArmingStop> ArmUnderStop(const ThreadsToArm& threads, const std::function<Result<void>()>& arm);

}  // namespace ptrace_prof

// The moment between an installed stub and a recording one, with the stack of every thread at that moment.
//
// All threads of the process are stopped once (with many threads and a GIL only its holder: arming_at_holder.h). The
// main interpreter's list of threads and their stacks are read raw, `arm` is called, and the threads go on. Later
// events are recorded, earlier ones are in the stacks. Nothing is named or written meanwhile. The list is read during
// the stop, because threads begin and end while others are being stopped, and a new one may reuse the address of a
// thread state. The roster only says where the frames of the threads that it knows were lately. Call from the capture's
// thread.
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
  size_t frame;     // index of the frame whose code is one of self_codes
  RemoteAddr self;  // its first local
};

struct ThreadAtArming {
  ThreadEntry entry;                  // the roster may not have it
  std::vector<RawFrame> frames;       // leaf first, without frames that are being made (unborn_frame.h)
  std::vector<CalledModule> modules;  // called by some of the frames
  bool is_whole = true;               // false: cut at the depth limit, or the chain was invalid
};

// Where to find the threads.
struct ThreadsToArm {
  Pid pid;
  RemoteMemory& memory;
  const Layout& layout;
  InterpreterWatch& watch;
  ThreadRoster& roster;
  uint32_t max_depth;
  std::span<const RemoteAddr> self_codes;
};

struct ArmingStop {
  std::vector<ThreadAtArming> threads;
  Nanos when;     // all threads were stopped
  Nanos stopped;  // duration of the stop
};

// kDeadlineExceeded: a thread did not stop in time; nothing was armed. Other errors: as StoppedThreads::StopAll, or
// those of `arm`.
Result<ArmingStop> ArmUnderStop(const ThreadsToArm& threads, const std::function<Result<void>()>& arm);

}  // namespace ptrace_prof

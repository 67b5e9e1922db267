// One thread of the target as the collector follows it: its stack reader, its last stack, its state.
//
// A PyThreadState, not a kernel thread: a thread that runs code of two interpreters has two, which share their handle.
// Plain aggregate; owned by ThreadRoster.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "attach/base/types.h"
#include "attach/proc/run_probe.h"
#include "daemon/collector/target/caller_doubt.h"
#include "daemon/collector/target/stack_builder.h"
#include "daemon/collector/target/thread_state_watch.h"
#include "daemon/trace/model.h"
#include "daemon/trace/write/trace_writer.h"
#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/thread_stack.h"

namespace ptrace_prof {

struct TakenStack {
  StackId stack = kEmptyStack;
  NodeId leaf = kRootNode;
  SampleQuality quality = SampleQuality::kSeen;
};

// Whether it is gone through at each instant (watched_threads.h).
enum class Passed : uint8_t {
  kNot,
  kSilently,   // there would be nothing to tell of it
  kAsSkipped,  // its samples would be left out, and are counted
};

// Of more than these, the stacks of those that have not moved for a while are read in turns.
inline constexpr size_t kVeryManyThreads = 2048;

struct ThreadTrack {
  ThreadTrack(const ThreadEntry& thread, size_t interpreter_index, ThreadStack reader)
      : entry(thread), interpreter(interpreter_index), stack(std::move(reader)) {}

  ThreadEntry entry;
  size_t interpreter;  // index into InterpreterWatch::interpreters()
  ThreadStack stack;
  BuiltChain chain;
  CallerDoubt doubt;  // of its outermost frame
  TakenStack last;    // what was seen last
  bool has_last = false;
  bool is_stale = false;                // it may have moved since, and was passed over
  Nanos moved;                          // when it was last seen elsewhere than before
  uint64_t seen_switches = 0;           // how often its GIL had changed hands when that was seen
  bool was_holder = false;              // and whether it had it, or had had it last
  std::optional<uint64_t> seen_slices;  // how often it had been put on a CPU when it was read as it waited
  std::optional<uint64_t> idle_slices;  // and when it was found to wait
  Nanos idle_since;                     // as long as it has not been put on one since
  ThreadInfo info;
  ThreadHandle handle;
  bool wanted = true;  // --threads
  Passed passed = Passed::kNot;
  bool listed = true;                                       // still in the interpreter's list
  std::optional<RunProbe> probe;                            // opened when first needed
  std::optional<ThreadStateWatch> watch;                    // none when the kernel thread is not known
  std::shared_ptr<std::optional<StateInfo>> written_state;  // of the thread, whichever of its states is looked at
  // A thread that runs code of several interpreters has a state in each: one thread, one handle. The stack of this one
  // stands below the caller's; while a callee has frames, this one has no news.
  bool is_announced = false;  // it has a handle
  ThreadTrack* caller = nullptr;
  ThreadTrack* callee = nullptr;

  bool is_inside() const {
    for (const ThreadTrack* inner = callee; inner != nullptr; inner = inner->callee) {
      if (inner->has_last ? inner->last.stack != kEmptyStack : inner->entry.has_frames) {
        return true;
      }
    }
    return false;
  }
  int depth() const { return caller == nullptr ? 0 : 1 + caller->depth(); }
};

}  // namespace ptrace_prof

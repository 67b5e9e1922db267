// One thread of the target as the collector follows it: its stack reader, its last stack, its state.
//
// Stands for a PyThreadState, not a kernel thread: a thread that runs code of two interpreters has two tracks, which
// share their handle. Plain aggregate; owned by ThreadRoster.
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

// Whether the thread is passed over at each instant (watched_threads.h).
enum class Passed : uint8_t {
  kNot,
  kSilently,   // it would have nothing to report
  kAsSkipped,  // its samples would be left out, and are counted
};

// With more threads than this, the stacks of those that have not moved for a while are read in turns.
inline constexpr size_t kVeryManyThreads = 2048;

struct ThreadTrack {
  ThreadTrack(const ThreadEntry& thread, size_t interpreter_index, ThreadStack reader)
      : entry(thread), interpreter(interpreter_index), stack(std::move(reader)) {}

  ThreadEntry entry;
  size_t interpreter;  // index into InterpreterWatch::interpreters()
  ThreadStack stack;
  BuiltChain chain;
  CallerDoubt doubt;  // about its outermost frame
  TakenStack last;    // the last stack read
  bool has_last = false;
  bool is_stale = false;                // it may have moved since, and was passed over
  Nanos moved;                          // when its stack was last seen to change
  uint64_t seen_switches = 0;           // switch count of its GIL at the last stack
  bool was_holder = false;              // whether it was the (last) holder then
  std::optional<uint64_t> seen_slices;  // its time slices when it was read waiting
  std::optional<uint64_t> idle_slices;  // its time slices when it was found waiting
  Nanos idle_since;                     // waiting at least since then, if idle_slices is unchanged
  ThreadInfo info;
  ThreadHandle handle;
  bool wanted = true;  // selected by --threads
  Passed passed = Passed::kNot;
  bool listed = true;                                       // still in the interpreter's list
  std::optional<RunProbe> probe;                            // opened when first needed
  std::optional<ThreadStateWatch> watch;                    // none if the kernel thread is not known
  std::shared_ptr<std::optional<StateInfo>> written_state;  // shared by all states of the thread
  // A thread that runs code of several interpreters has a state in each, all with one handle. The stack of this state
  // stands below the caller's. While a callee has frames, this state reports nothing.
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

// One thread of the target as the collector follows it: its stack reader, its last linked chain, its state.
//
// A PyThreadState, not a kernel thread: a thread that runs code of two interpreters has two. Plain aggregate; owned by
// ThreadRoster.
#pragma once

#include <optional>

#include "attach/base/types.h"
#include "daemon/collect/chain_verifier.h"
#include "daemon/collect/stack_linker.h"
#include "daemon/collect/thread_state_watch.h"
#include "daemon/trace/model.h"
#include "daemon/trace/trace_writer.h"
#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/thread_stack.h"

namespace ptrace_prof {

struct ThreadTrack {
  ThreadTrack(const ThreadEntry& thread, size_t interpreter_index, ThreadStack reader)
      : entry(thread), interpreter(interpreter_index), stack(std::move(reader)) {}

  ThreadEntry entry;
  size_t interpreter;  // index into InterpreterWatch::interpreters()
  ThreadStack stack;
  LinkedChain chain;
  VerifiedStack last;  // of the last sample
  bool has_last = false;
  ThreadInfo info;
  ThreadHandle handle;
  bool wanted = true;                     // --threads
  bool listed = true;                     // still in the interpreter's list
  std::optional<ThreadStateWatch> watch;  // none when the kernel thread is not known
  std::optional<StateInfo> written_state;
};

}  // namespace ptrace_prof

// What must be known about a process to bring the stub into it: plain facts, gathered by who knows CPython and ELF.
#pragma once

#include <vector>

#include "attach/base/types.h"
#include "attach/proc/call_queue.h"
#include "attach/proc/memory_tail.h"

namespace ptrace_prof {

struct InjectionTarget {
  Pid pid;
  Pid own_pid;  // as the target sees itself

  CallQueue queue;
  bool main_thread_only = false;  // nobody else looks at the queue
  RemoteAddr run_text;            // int(const char*): runs a text of Python, with the rights to do so held
  std::vector<MemoryTail> tails;  // where a text may be put, if it is zero there
  RemoteAddr memfd_create;        // of its libc; null: it has none

  bool debugging_disabled = false;  // the job said that it does not want to be debugged (3.14+)
  bool force = false;               // the user wants it nevertheless
};

}  // namespace ptrace_prof

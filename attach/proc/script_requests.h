// Where the threads of a program can each be asked to run a script, named by its path, at their next safe point: fields
// of the elements of a list of threads.
//
// Plain addresses and offsets. Who found them knows what program that is (symbolizer/cpython/remote_debugging.h); who
// asks (attach/inject) does not. In an element the word that says whether a script waits comes first, its path behind.
#pragma once

#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

struct ScriptRequests {
  RemoteAddr list_head;     // where the address of the first element is
  uint32_t list_next = 0;   // in an element: the address of the next
  uint32_t list_owner = 0;  // in an element: `owner`, else it is none of this list
  RemoteAddr owner;
  uint32_t waits = 0;  // in an element: int, 1 while a script waits
  uint32_t path = 0;   // in an element: its path, zero-terminated
  uint32_t path_bytes = 0;
  uint32_t breaker = 0;  // in an element: a word of 8 bytes, `breaker_bit` of which makes the thread look
  uint64_t breaker_bit = 0;
};

inline constexpr uint32_t kMaxScriptPathBytes = 4096;

}  // namespace ptrace_prof

// The fields through which each thread of a program can be asked to run a script at its next safe point: fields of the
// elements of a list of threads. The script is named by its path.
//
// Plain addresses and offsets. The code that finds them knows the program (symbolizer/cpython/remote_debugging.h); the
// code that asks (attach/inject) does not. In an element, the word that says whether a script waits comes before the
// path.
#pragma once

#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

struct ScriptRequests {
  RemoteAddr list_head;     // address of the pointer to the first element
  uint32_t list_next = 0;   // in an element: pointer to the next
  uint32_t list_owner = 0;  // in an element: must equal `owner`, otherwise the element is not in this list
  RemoteAddr owner;
  uint32_t waits = 0;  // in an element: int, 1 while a script waits
  uint32_t path = 0;   // in an element: the script's path, zero-terminated
  uint32_t path_bytes = 0;
  uint32_t breaker = 0;  // in an element: a word of 8 bytes; its bit `breaker_bit` makes the thread check for a script
  uint64_t breaker_bit = 0;
};

inline constexpr uint32_t kMaxScriptPathBytes = 4096;

}  // namespace ptrace_prof

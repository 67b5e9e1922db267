// The offsets of struct _pending_calls and related fields, for one queue of one version. Pure data, stored in
// version_table.cc; used only there, in pending_calls.cc and in their tests.
#pragma once

#include <cstdint>

#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

enum class PendingAnchor : uint8_t {
  kRuntime,  // _PyRuntime
  kInterpreter,
  kGilPointer,  // the field `ceval.gil` of the interpreter, whose offset is in the layout
  kThread,      // every thread state of the interpreter, behind its field `interp`
};

struct PendingPlace {
  PendingAnchor anchor = PendingAnchor::kInterpreter;
  int32_t offset = 0;
};

struct PendingCallsRow {
  PendingPlace pending;  // struct _pending_calls
  PendingPlace breaker;  // eval_breaker
  // In struct _pending_calls:
  uint32_t lock = 0;
  uint32_t count = 0;
  uint32_t max = kAbsent;
  uint32_t calls = 0;
  uint32_t first = 0;
  uint32_t call_size = 16;
  uint32_t slots = 32;
  bool mutex = false;             // the lock is a PyMutex; else a pointer to a semaphore
  uint32_t eval_frame = kAbsent;  // PyInterpreterState.eval_frame, if its offset is known
};

}  // namespace ptrace_prof

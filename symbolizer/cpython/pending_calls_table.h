// The offsets of struct _pending_calls and of what belongs to it, for each minor version. Pure data; known only to
// pending_calls.cc and its tests.
#pragma once

#include <cstdint>
#include <span>

#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/pending_calls.h"

namespace ptrace_prof {

enum class PendingAnchor : uint8_t {
  kRuntime,  // _PyRuntime
  kInterpreter,
  kGilPointer,  // the field `ceval.gil` of the interpreter, whose place the layout knows
  kThread,      // every thread state of the interpreter, behind its field `interp`
};

struct PendingPlace {
  PendingAnchor anchor = PendingAnchor::kInterpreter;
  int32_t offset = 0;
};

struct PendingCallsRow {
  uint8_t minor = 0;
  CallRunner runner = CallRunner::kMainThread;
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
  uint32_t eval_frame = kAbsent;  // PyInterpreterState.eval_frame, where its place is known
};

std::span<const PendingCallsRow> PendingCallsRows();

}  // namespace ptrace_prof

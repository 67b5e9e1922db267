// Opens a process that was requested by its pid. If it has just been started or is in the middle of an exec, opening is
// tried again for half a second, which is enough in most cases.
#pragma once

#include <utility>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/ptrace/held_start.h"

namespace ptrace_prof {

// Whether the error of PythonProcess::Open, or of a later step, may soon go away.
bool MayPass(Pid pid, const Error& error);
// The error for a process that could not be read after it was opened: it ended, or exec'ed another program.
Error LostWhileOpened(Pid pid);

template <typename Open>
auto OpenPatiently(Pid pid, Open open) {
  constexpr Nanos kPatience = Nanos::FromMillis(500);
  constexpr Nanos kPause = Nanos::FromMillis(5);
  const Nanos deadline = MonotonicNow() + kPatience;
  auto opened = open();
  while (opened.has_error() && MayPass(pid, opened.error()) && MonotonicNow() < deadline) {
    PauseOrStep(kPause);
    opened = open();
  }
  return opened;
}

}  // namespace ptrace_prof

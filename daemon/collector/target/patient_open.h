// Opens a process that was asked for by its pid. One that has just been started, or that becomes another program (exec)
// at this very moment, is tried again for half a second: in most cases that is all that it lacks.
#pragma once

#include <utility>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/ptrace/held_start.h"

namespace ptrace_prof {

// Whether what PythonProcess::Open or what follows it said of that process may be otherwise soon.
bool MayPass(Pid pid, const Error& error);
// That it could not be read when it had been opened: it ended, or it has become another program.
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

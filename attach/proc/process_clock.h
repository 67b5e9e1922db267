// The CPU clock of another process: how long its threads have run so far, exact to the nanosecond at every read.
//
// 0.25 us a read, no right needed. If it stood still, no thread of the process has run, so nothing in it has changed.
#pragma once

#include <optional>

#include "attach/base/types.h"

namespace ptrace_prof {

// nullopt: no such process.
std::optional<Nanos> ReadProcessCpuTime(Pid pid);

}  // namespace ptrace_prof

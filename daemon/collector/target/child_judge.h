// Says whether a capture may follow a process: a child, or the target after an exec.
//
// Returns the reason against it, as the end of a sentence about the process; nullopt: it may be followed as far as the
// kernel allows.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

using ChildJudge = std::function<std::optional<std::string>(Pid)>;

}  // namespace ptrace_prof

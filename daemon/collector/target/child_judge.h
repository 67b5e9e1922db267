// Somebody's word on a process that a capture comes to follow: a child, or the target once it is another program.
//
// What it has against that, as the end of a sentence about the process; nothing: it may be followed as far as the
// kernel lets us.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

using ChildJudge = std::function<std::optional<std::string>(Pid)>;

}  // namespace ptrace_prof

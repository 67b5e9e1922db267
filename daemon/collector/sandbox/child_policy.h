// What the administrator's policy has against following a process, for the collector, which was given the rules.
//
// Facts are looked up as the collector, with its rights: what those do not show fits a rule that denies. Pure but for
// /proc.
#pragma once

#include <optional>
#include <string>

#include "attach/base/types.h"
#include "daemon/server/policy/policy.h"

namespace ptrace_prof {

// The end of a sentence about that process; nothing: it may be followed, or is gone.
std::optional<std::string> WhyNotFollow(const Policy& rules, Pid pid);

}  // namespace ptrace_prof

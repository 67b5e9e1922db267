// The rules of a policy that may apply to processes that a capture comes to follow: children of the target, and other
// programs in it.
//
// The daemon's main process judges the target itself. It encodes these rules for the caller's collector, which judges
// the other processes when it meets them. An attacker in a collector can ignore the rules, as a user without the daemon
// can; the kernel's checks stay. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "daemon/server/policy/policy.h"

namespace ptrace_prof {

inline constexpr size_t kMaxChildRules = 32 * 1024;  // bytes: they are part of a collector's task

// Empty: the caller is denied nothing that it may read. Rules that would exceed the limit become rules that deny all.
std::string EncodeChildRules(const Policy& policy, const PolicyCaller& caller);
// A policy that judges every caller as the encoded caller. kInvalidArgument: `text` is no encoded rules.
Result<Policy> DecodeChildRules(std::string_view text);

}  // namespace ptrace_prof

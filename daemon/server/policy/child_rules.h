// The rules of a policy that can concern what one caller's capture comes to follow: children of the process that was
// asked for, and other programs in it.
//
// Main, which judges that process itself, puts them into words for the caller's collector, which judges the others as
// it meets them. Who takes a collector over passes them by, as who does without the daemon; the kernel's answer stays.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "daemon/server/policy/policy.h"

namespace ptrace_prof {

inline constexpr size_t kMaxChildRules = 32 * 1024;  // bytes: they travel in the task of a collector

// Empty: that caller is denied nothing that it may read. Where they would be more than that, rules that deny all.
std::string EncodeChildRules(const Policy& policy, const PolicyCaller& caller);
// A policy that judges any caller as the one was to be judged. kInvalidArgument: these are no such rules.
Result<Policy> DecodeChildRules(std::string_view text);

}  // namespace ptrace_prof

// Reads a policy from its file, which is TOML (docs/daemon.md describes it).
//
// Strict: an unknown key, a value of the wrong type, or an unknown user or group is an error that names file and line,
// because a rule that silently has no effect is worse than a daemon that does not start. Pure, except that it looks up
// users and groups.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "daemon/server/policy/policy.h"

namespace ptrace_prof {

// kInvalidArgument: "FILE:LINE: what is wrong", for the first error.
Result<Policy> ParsePolicy(std::string_view text, const std::string& file);

// Reads and parses the file. kNotFound: there is none; kPermissionDenied: users other than `owner` and root can write
// to it, or we may not read it.
Result<Policy> ReadPolicy(const std::string& file, Uid owner);

}  // namespace ptrace_prof

// A policy out of the text of its file, which is TOML (docs/daemon.md tells what may be in it).
//
// Strict: a key that is not known, a value of the wrong kind, a user or group that is not there is an error, named with
// file and line, because a rule that silently does not hold is worse than a daemon that does not start. Pure but for
// looking up names of users and groups.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "daemon/server/policy/policy.h"

namespace ptrace_prof {

// kInvalidArgument: "FILE:LINE: what is wrong"; the first thing that is.
Result<Policy> ParsePolicy(std::string_view text, const std::string& file);

// Reads and parses it. kNotFound: there is none; kPermissionDenied: others than `owner` and root may have written it,
// or we may not read it.
Result<Policy> ReadPolicy(const std::string& file, Uid owner);

}  // namespace ptrace_prof

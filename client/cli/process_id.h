// Process ids as people write them. Each error names what is allowed. Stateless.
#pragma once

#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

Result<Pid> ParsePid(std::string_view text);
Result<Pid> ParseTarget(std::string_view text);  // the same; kInvalidArgument: it is our own

}  // namespace ptrace_prof

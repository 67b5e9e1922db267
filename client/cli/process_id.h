// Parses process IDs. Each error says what is allowed. Stateless.
#pragma once

#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

Result<Pid> ParsePid(std::string_view text);
Result<Pid> ParseTarget(std::string_view text);  // likewise; kInvalidArgument also for our own process

}  // namespace ptrace_prof

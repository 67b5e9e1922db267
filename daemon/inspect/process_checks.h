// The verdicts on one process: may it be read, is it a Python that we know, what limits that.
//
// CheckRefusal tells why the kernel said no, at any time. CheckReadable reads the target's memory, which is hostile: it
// comes after rights were given up.
#pragma once

#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/check.h"

namespace ptrace_prof {

// Why the process cannot be profiled, from the error that said so.
Check CheckRefusal(Pid pid, const Error& error);

std::vector<Check> CheckReadable(Pid pid);

}  // namespace ptrace_prof

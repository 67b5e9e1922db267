// Who works on a target: a lock on the memfds that its collector holds, which ends with that collector, however it
// ends.
//
// A record lock of fcntl(2): it belongs to this process, and goes as soon as any descriptor of that file is closed in
// it. So each file is taken once and kept.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/stub_kind.h"
#include "attach/inject/target_files.h"

namespace ptrace_prof {

// kAlreadyExists: another collector is at work on this file, by name. kOk: it is ours, until `file` is closed.
Result<void> LockFile(Pid pid, const UniqueFd& file);

// The memfds whose names begin so and that nobody holds; `own`: the number of ours, or -1. kAlreadyExists: somebody
// holds one.
Result<std::vector<int32_t>> FindStrays(Pid pid, const TargetFiles& files, std::string_view prefix, int32_t own);

// kAlreadyExists: another collector is at work with a stub of that kind.
Result<void> CheckNobodyElse(Pid pid, const TargetFiles& files, const StubKind& kind);

}  // namespace ptrace_prof

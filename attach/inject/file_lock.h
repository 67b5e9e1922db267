// Marks a target as in use: a lock on the memfds that its collector holds. The lock ends with that collector, however
// it ends.
//
// It is a record lock of fcntl(2): it belongs to this process, and is released as soon as the process closes any
// descriptor of that file. So each file is opened once and kept.
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

// kOk: the lock is ours until `file` is closed. kAlreadyExists: another collector, named in the error, has the file.
Result<void> LockFile(Pid pid, const UniqueFd& file);

// The unlocked memfds with this name prefix; `own`: the number of ours, or -1. kAlreadyExists: another collector holds
// one.
Result<std::vector<int32_t>> FindStrays(Pid pid, const TargetFiles& files, std::string_view prefix, int32_t own);

// kAlreadyExists: another collector is working with a stub of that kind.
Result<void> CheckSoleUser(Pid pid, const TargetFiles& files, const StubKind& kind);

}  // namespace ptrace_prof

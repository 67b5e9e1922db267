// Reads a small text file under /proc as a whole.
//
// /proc produces the text while it is read, so its size is unknown beforehand: the caller gives a limit, and longer
// text is truncated. A file that is missing, or that returns ESRCH, means that its process or thread ended (kGone).
// Thread-safe: no state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

// "/proc/<pid>/<name>"; an empty name gives the directory.
std::string ProcPath(Pid pid, std::string_view name);
// "/proc/<pid>/task/<tid>/<name>".
std::string ProcTaskPath(Pid pid, Tid tid, std::string_view name);

inline constexpr size_t kProcFileLimit = 1 << 20;
// kGone, kPermissionDenied, kInternal; the message names the path.
Result<std::string> ReadProcFile(const std::string& path, size_t limit = kProcFileLimit);
// The error for a refused call on a path under /proc: as ErrnoError, but ENOENT is kGone too.
Error ProcError(int err, const std::string& path);

// The entries of a directory whose names are decimal numbers, in the kernel's order.
Result<std::vector<int32_t>> ListNumericEntries(const std::string& path);

}  // namespace ptrace_prof

// Opens the trace that a command converts: a file, or standard input.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

// `path` "-" is standard input. The error names the file, and says what it is if it is no trace.
Result<UniqueFd> OpenTrace(const std::string& path);
// An error of ExportTrace, with the name of the file where that helps.
Error NameTrace(Error error, const std::string& path);

}  // namespace ptrace_prof

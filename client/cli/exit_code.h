// The exit codes of ptrace-prof: one table, which --help and docs/cli.md repeat.
#pragma once

#include <span>
#include <string_view>

#include "attach/base/result.h"

namespace ptrace_prof {

enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,
  kUsage = 2,
  kNoSuchProcess = 3,
  kPermission = 4,
  kNotPython = 5,
  kGone = 6,
  kOutput = 7,
  kBadTrace = 8,
  kNoDaemon = 9,
  kNotNow = 10,
  kAborted = 130,
};

struct ExitCodeRow {
  ExitCode code;
  std::string_view meaning;
};
std::span<const ExitCodeRow> ExitCodes();

// The exit code for an error of a capture.
ExitCode ExitCodeOf(const Error& error);
ExitCode ExitCodeOf(Code code);  // if only the code is known

// The epilogue of --help.
std::string_view ExitCodeHelp();

}  // namespace ptrace_prof

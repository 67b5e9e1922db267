#include "client/cli/exit_code.h"

#include <fmt/format.h>

#include <string>

namespace ptrace_prof {
namespace {

constexpr ExitCodeRow kExitCodes[] = {
    {ExitCode::kOk, "done; a target that ended by itself counts as done"},
    {ExitCode::kInternal, "an internal error, or a fault of this machine"},
    {ExitCode::kUsage, "invalid command line, or the target is a thread, a kernel thread or ptrace-prof itself"},
    {ExitCode::kNoSuchProcess, "no such process, thread or capture"},
    {ExitCode::kPermission, "not permitted: the message says what forbids it and what to do"},
    {ExitCode::kNotPython, "unreadable target: not Python, an unsupported version or build, or a zombie"},
    {ExitCode::kGone, "the target ended before anything was recorded"},
    {ExitCode::kOutput, "the output could not be written, or only a part of it (disk full)"},
    {ExitCode::kBadTrace, "the input is not a trace of ptrace-prof"},
    {ExitCode::kNoDaemon, "no daemon answers, or the command needs one and none is in use"},
    {ExitCode::kNotNow, "temporary failure (target in use, no room, or a timeout): try again later"},
    {ExitCode::kAborted, "aborted (a second Ctrl-C): the trace so far is kept"},
};

struct Mapping {
  Code from;
  ExitCode to;
};
constexpr Mapping kMappings[] = {
    {Code::kOk, ExitCode::kOk},
    {Code::kCancelled, ExitCode::kAborted},
    {Code::kInvalidArgument, ExitCode::kUsage},
    {Code::kOutOfRange, ExitCode::kUsage},
    {Code::kNotFound, ExitCode::kNoSuchProcess},
    {Code::kPermissionDenied, ExitCode::kPermission},
    {Code::kUnauthenticated, ExitCode::kPermission},
    {Code::kFailedPrecondition, ExitCode::kNotPython},
    {Code::kUnimplemented, ExitCode::kNotPython},
    {Code::kGone, ExitCode::kGone},
    {Code::kDataLoss, ExitCode::kBadTrace},
    {Code::kAlreadyExists, ExitCode::kNotNow},
    {Code::kResourceExhausted, ExitCode::kNotNow},
    {Code::kDeadlineExceeded, ExitCode::kNotNow},
    {Code::kUnavailable, ExitCode::kNotNow},
};

// Reasons that have an exit code of their own.
struct ReasonMapping {
  Reason from;
  ExitCode to;
};
constexpr ReasonMapping kReasonMappings[] = {
    {Reason::kServerUnreachable, ExitCode::kNoDaemon},
    {Reason::kNoDaemon, ExitCode::kNoDaemon},
    {Reason::kLauncherFailed, ExitCode::kNoDaemon},
    {Reason::kDiskFull, ExitCode::kOutput},
    {Reason::kNotYet, ExitCode::kUsage},
    {Reason::kRemoteDebugDisabled, ExitCode::kPermission},
    {Reason::kAlreadyTraced, ExitCode::kNotNow},
    {Reason::kForeignProfiler, ExitCode::kNotNow},
    {Reason::kForeignFrameHook, ExitCode::kNotNow},
    {Reason::kTargetStopped, ExitCode::kNotNow},
    {Reason::kTracerLost, ExitCode::kNotNow},
    {Reason::kPythonDamaged, ExitCode::kNotPython},
};

}  // namespace

std::span<const ExitCodeRow> ExitCodes() { return kExitCodes; }

ExitCode ExitCodeOf(Code code) {
  for (const Mapping& mapping : kMappings) {
    if (mapping.from == code) {
      return mapping.to;
    }
  }
  return ExitCode::kInternal;
}

ExitCode ExitCodeOf(const Error& error) {
  for (const ReasonMapping& mapping : kReasonMappings) {
    if (mapping.from == error.reason) {
      return mapping.to;
    }
  }
  return ExitCodeOf(error.code);
}

std::string_view ExitCodeHelp() {
  static const std::string text = [] {
    std::string lines = "Exit codes:\n";
    for (const ExitCodeRow& row : kExitCodes) {
      lines += fmt::format("  {:>3}  {}\n", static_cast<int>(row.code), row.meaning);
    }
    return lines + "  `record -- COMMAND` exits as COMMAND does, 127 or 126 when it cannot be started.\n";
  }();
  return text;
}

}  // namespace ptrace_prof

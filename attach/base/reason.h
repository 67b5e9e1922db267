// Why something went wrong, in one word for programs: the same word in traces, over gRPC, in JSON, in Python and behind
// the message on a terminal.
//
// kRows in reason.cc is the one table of them; docs/api.md, the comment in capture_service.proto and the Python client
// repeat it, and tests/lint/check_reasons.py holds them to it. A word keeps its meaning for ever: scripts rely on it.
// Pure data. kUnspecified: nothing is known beyond the code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptrace_prof {

enum class Code : int;

enum class Reason : uint8_t {
  kUnspecified,

  // What is said of a code when nothing more is known: one for each.
  kCancelled,
  kUnknown,
  kInvalidRequest,
  kDeadlineExceeded,
  kNotFound,
  kAlreadyExists,
  kPermissionDenied,
  kResourceExhausted,
  kFailedPrecondition,
  kTargetExited,
  kBadOffset,
  kNotYet,
  kInternal,
  kUnavailable,
  kDataLoss,
  kUnauthenticated,

  // What the target is.
  kProcessNotFound,
  kTargetIsThread,
  kTargetIsKernelThread,
  kTargetIsProfiler,
  kTargetIsZombie,
  kMainThreadEnded,
  kTargetExeced,
  kNotPython,
  kPythonNotStarted,
  kPythonEnding,
  kPythonUnsupported,
  kPythonTestRelease,
  kPythonTraceRefs,
  kPythonNotCpython,
  kPythonDamaged,

  // Who may not read it, and why.
  kCallerUidMismatch,
  kTargetChangedIds,
  kTargetHasCapabilities,
  kTargetNotDumpable,
  kCapabilityMissing,
  kUserNamespace,
  kYamaDenied,
  kSeccompDenied,
  kLsmDenied,
  kProcHidden,
  kCannotBecomeCaller,
  kCannotBecomeOwner,
  kAlreadyTraced,
  kPolicyDenied,

  // What stands in the way of tracing calls.
  kRemoteDebugDisabled,
  kTargetStopped,
  kTargetIdle,
  kBeingTraced,
  kForeignProfiler,
  kForeignFrameHook,
  kForeignScript,
  kUnknownQueueLayout,
  kPendingQueueFull,
  kPendingQueueLocked,
  kNoRoomForText,
  kNoProcInTarget,
  kTracerNotLoaded,
  kTracerLost,
  kKernelTooOld,
  kTracingTooCostly,

  // Captures, and those who carry them out.
  kCaptureNotFound,
  kCaptureExists,
  kCaptureNotEnded,
  kQuota,
  kDiskFull,
  kStorageFailed,
  kCollectorFailed,
  kLauncherFailed,
  kDaemonEnding,
  kDaemonRestarted,
  kOutOfResources,
  kServerUnreachable,
  kNoDaemon,
  kCommandNotFound,
  kCommandNotStarted,
  kNotATrace,

  // What stands in the way of recording a GPU.
  kConflictSubscriber,
  kCuptiTooOld,
  kCuptiBlocked,
  kDriverTooOld,
  kNoCuda,
  kNoPrivilege,
  kLowGpuMemory,
  kAttachTimeout,
  kNoKernelsSeen,
  kMpsUnsafe,
};

struct ReasonRow {
  Reason reason;
  std::string_view name;  // "NOT_PYTHON"
  Code code;              // that Because() gives an error of this reason
};

// All but kUnspecified, in their order.
std::span<const ReasonRow> Reasons();

std::string_view ReasonName(Reason reason);  // "" of kUnspecified
Code CodeOf(Reason reason);
// kUnspecified: no word of ours, or of a later version.
Reason ReasonNamed(std::string_view name);
// What is said when nothing more is known; kUnspecified of kOk.
Reason UsualReason(Code code);

}  // namespace ptrace_prof

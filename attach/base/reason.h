// The reason of a failure as one word for programs. The same word is used in traces, over gRPC, in JSON, in Python and
// behind the message on a terminal.
//
// kRows in reason.cc is the only table of them. docs/api.md, the comment in capture_service.proto and the Python client
// repeat it, and tests/lint/check_reasons.py compares them. A word never changes its meaning, because scripts rely on
// it. Pure data. kUnspecified: nothing is known beyond the code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptrace_prof {

enum class Code : int;

enum class Reason : uint8_t {
  kUnspecified,

  // Default reasons, one for each code.
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

  // Properties of the target.
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

  // Why it may not be read.
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

  // Obstacles to tracing calls.
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

  // Captures, and the programs that run them.
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

  // Obstacles to recording a GPU.
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

  // Obstacles to recording PyTorch.
  kNoTorch,
  kTorchUnsupported,
};

struct ReasonRow {
  Reason reason;
  std::string_view name;  // "NOT_PYTHON"
  Code code;              // the code of an error that Because() makes for this reason
};

// All reasons except kUnspecified, in order.
std::span<const ReasonRow> Reasons();

std::string_view ReasonName(Reason reason);  // "" for kUnspecified
Code CodeOf(Reason reason);
// Returns kUnspecified for a word that this version does not know.
Reason ReasonNamed(std::string_view name);
// The default reason of a code; kUnspecified for kOk.
Reason UsualReason(Code code);

}  // namespace ptrace_prof

#include "attach/base/reason.h"

#include <iterator>

#include "attach/base/result.h"

namespace ptrace_prof {
namespace {

// The first row of each code is its default reason.
constexpr ReasonRow kRows[] = {
    {Reason::kCancelled, "CANCELLED", Code::kCancelled},
    {Reason::kUnknown, "UNKNOWN", Code::kUnknown},
    {Reason::kInvalidRequest, "INVALID_REQUEST", Code::kInvalidArgument},
    {Reason::kDeadlineExceeded, "DEADLINE_EXCEEDED", Code::kDeadlineExceeded},
    {Reason::kNotFound, "NOT_FOUND", Code::kNotFound},
    {Reason::kAlreadyExists, "ALREADY_EXISTS", Code::kAlreadyExists},
    {Reason::kPermissionDenied, "PERMISSION_DENIED", Code::kPermissionDenied},
    {Reason::kResourceExhausted, "RESOURCE_EXHAUSTED", Code::kResourceExhausted},
    {Reason::kFailedPrecondition, "FAILED_PRECONDITION", Code::kFailedPrecondition},
    {Reason::kTargetExited, "TARGET_EXITED", Code::kGone},
    {Reason::kBadOffset, "BAD_OFFSET", Code::kOutOfRange},
    {Reason::kNotYet, "NOT_YET", Code::kUnimplemented},
    {Reason::kInternal, "INTERNAL", Code::kInternal},
    {Reason::kUnavailable, "UNAVAILABLE", Code::kUnavailable},
    {Reason::kDataLoss, "DATA_LOSS", Code::kDataLoss},
    {Reason::kUnauthenticated, "UNAUTHENTICATED", Code::kUnauthenticated},

    {Reason::kProcessNotFound, "PROCESS_NOT_FOUND", Code::kNotFound},
    {Reason::kTargetIsThread, "TARGET_IS_THREAD", Code::kInvalidArgument},
    {Reason::kTargetIsKernelThread, "TARGET_IS_KERNEL_THREAD", Code::kInvalidArgument},
    {Reason::kTargetIsProfiler, "TARGET_IS_PROFILER", Code::kInvalidArgument},
    {Reason::kTargetIsZombie, "TARGET_IS_ZOMBIE", Code::kFailedPrecondition},
    {Reason::kMainThreadEnded, "MAIN_THREAD_ENDED", Code::kFailedPrecondition},
    {Reason::kTargetExeced, "TARGET_EXECED", Code::kGone},
    {Reason::kNotPython, "NOT_PYTHON", Code::kFailedPrecondition},
    {Reason::kPythonNotStarted, "PYTHON_NOT_STARTED", Code::kFailedPrecondition},
    {Reason::kPythonEnding, "PYTHON_ENDING", Code::kFailedPrecondition},
    {Reason::kPythonUnsupported, "PYTHON_UNSUPPORTED", Code::kUnimplemented},
    {Reason::kPythonTestRelease, "PYTHON_TEST_RELEASE", Code::kUnimplemented},
    {Reason::kPythonTraceRefs, "PYTHON_TRACE_REFS", Code::kUnimplemented},
    {Reason::kPythonNotCpython, "PYTHON_NOT_CPYTHON", Code::kUnimplemented},
    {Reason::kPythonDamaged, "PYTHON_DAMAGED", Code::kDataLoss},

    {Reason::kCallerUidMismatch, "CALLER_UID_MISMATCH", Code::kPermissionDenied},
    {Reason::kTargetChangedIds, "TARGET_CHANGED_IDS", Code::kPermissionDenied},
    {Reason::kTargetHasCapabilities, "TARGET_HAS_CAPABILITIES", Code::kPermissionDenied},
    {Reason::kTargetNotDumpable, "TARGET_NOT_DUMPABLE", Code::kPermissionDenied},
    {Reason::kCapabilityMissing, "CAPABILITY_MISSING", Code::kPermissionDenied},
    {Reason::kUserNamespace, "USER_NAMESPACE", Code::kPermissionDenied},
    {Reason::kYamaDenied, "YAMA_DENIED", Code::kPermissionDenied},
    {Reason::kSeccompDenied, "SECCOMP_DENIED", Code::kPermissionDenied},
    {Reason::kLsmDenied, "LSM_DENIED", Code::kPermissionDenied},
    {Reason::kProcHidden, "PROC_HIDDEN", Code::kPermissionDenied},
    {Reason::kCannotBecomeCaller, "CANNOT_BECOME_CALLER", Code::kPermissionDenied},
    {Reason::kCannotBecomeOwner, "CANNOT_BECOME_OWNER", Code::kFailedPrecondition},
    {Reason::kAlreadyTraced, "ALREADY_TRACED", Code::kFailedPrecondition},
    {Reason::kPolicyDenied, "POLICY_DENIED", Code::kPermissionDenied},

    {Reason::kRemoteDebugDisabled, "REMOTE_DEBUG_DISABLED", Code::kFailedPrecondition},
    {Reason::kTargetStopped, "TARGET_STOPPED", Code::kFailedPrecondition},
    {Reason::kTargetIdle, "TARGET_IDLE", Code::kDeadlineExceeded},
    {Reason::kBeingTraced, "BEING_TRACED", Code::kAlreadyExists},
    {Reason::kForeignProfiler, "FOREIGN_PROFILER", Code::kFailedPrecondition},
    {Reason::kForeignFrameHook, "FOREIGN_FRAME_HOOK", Code::kFailedPrecondition},
    {Reason::kForeignScript, "FOREIGN_SCRIPT", Code::kUnavailable},
    {Reason::kUnknownQueueLayout, "UNKNOWN_QUEUE_LAYOUT", Code::kUnimplemented},
    {Reason::kPendingQueueFull, "PENDING_QUEUE_FULL", Code::kResourceExhausted},
    {Reason::kPendingQueueLocked, "PENDING_QUEUE_LOCKED", Code::kUnavailable},
    {Reason::kNoRoomForText, "NO_ROOM_FOR_TEXT", Code::kResourceExhausted},
    {Reason::kNoProcInTarget, "NO_PROC_IN_TARGET", Code::kFailedPrecondition},
    {Reason::kTracerNotLoaded, "TRACER_NOT_LOADED", Code::kFailedPrecondition},
    {Reason::kTracerLost, "TRACER_LOST", Code::kFailedPrecondition},
    {Reason::kKernelTooOld, "KERNEL_TOO_OLD", Code::kUnimplemented},
    {Reason::kTracingTooCostly, "TRACING_TOO_COSTLY", Code::kFailedPrecondition},

    {Reason::kCaptureNotFound, "CAPTURE_NOT_FOUND", Code::kNotFound},
    {Reason::kCaptureExists, "CAPTURE_EXISTS", Code::kAlreadyExists},
    {Reason::kCaptureNotEnded, "CAPTURE_NOT_ENDED", Code::kFailedPrecondition},
    {Reason::kQuota, "QUOTA", Code::kResourceExhausted},
    {Reason::kDiskFull, "DISK_FULL", Code::kResourceExhausted},
    {Reason::kStorageFailed, "STORAGE_FAILED", Code::kInternal},
    {Reason::kCollectorFailed, "COLLECTOR_FAILED", Code::kInternal},
    {Reason::kLauncherFailed, "LAUNCHER_FAILED", Code::kUnavailable},
    {Reason::kDaemonEnding, "DAEMON_ENDING", Code::kUnavailable},
    {Reason::kDaemonRestarted, "DAEMON_RESTARTED", Code::kUnavailable},
    {Reason::kOutOfResources, "OUT_OF_RESOURCES", Code::kResourceExhausted},
    {Reason::kServerUnreachable, "SERVER_UNREACHABLE", Code::kUnavailable},
    {Reason::kNoDaemon, "NO_DAEMON", Code::kUnavailable},
    {Reason::kCommandNotFound, "COMMAND_NOT_FOUND", Code::kNotFound},
    {Reason::kCommandNotStarted, "COMMAND_NOT_STARTED", Code::kPermissionDenied},
    {Reason::kNotATrace, "NOT_A_TRACE", Code::kDataLoss},

    {Reason::kConflictSubscriber, "CONFLICT_SUBSCRIBER", Code::kFailedPrecondition},
    {Reason::kCuptiTooOld, "CUPTI_TOO_OLD", Code::kUnimplemented},
    {Reason::kCuptiBlocked, "CUPTI_BLOCKED", Code::kFailedPrecondition},
    {Reason::kDriverTooOld, "DRIVER_TOO_OLD", Code::kUnimplemented},
    {Reason::kNoCuda, "NO_CUDA", Code::kFailedPrecondition},
    {Reason::kNoPrivilege, "NO_PRIVILEGE", Code::kPermissionDenied},
    {Reason::kLowGpuMemory, "LOW_GPU_MEMORY", Code::kResourceExhausted},
    {Reason::kAttachTimeout, "ATTACH_TIMEOUT", Code::kDeadlineExceeded},
    {Reason::kNoKernelsSeen, "NO_KERNELS_SEEN", Code::kFailedPrecondition},
    {Reason::kMpsUnsafe, "MPS_UNSAFE", Code::kFailedPrecondition},
    {Reason::kNoTorch, "NO_TORCH", Code::kFailedPrecondition},
    {Reason::kTorchUnsupported, "TORCH_UNSUPPORTED", Code::kUnimplemented},
};

constexpr bool EachHasItsRow() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].reason) != i + 1) {
      return false;
    }
  }
  return static_cast<size_t>(Reason::kTorchUnsupported) == std::size(kRows);
}
static_assert(EachHasItsRow());

const ReasonRow* RowOf(Reason reason) {
  const auto number = static_cast<size_t>(reason);
  return number == 0 || number > std::size(kRows) ? nullptr : &kRows[number - 1];
}

}  // namespace

std::span<const ReasonRow> Reasons() { return kRows; }

std::string_view ReasonName(Reason reason) {
  const ReasonRow* row = RowOf(reason);
  return row == nullptr ? std::string_view() : row->name;
}

Code CodeOf(Reason reason) {
  const ReasonRow* row = RowOf(reason);
  return row == nullptr ? Code::kUnknown : row->code;
}

Reason ReasonNamed(std::string_view name) {
  for (const ReasonRow& row : kRows) {
    if (row.name == name) {
      return row.reason;
    }
  }
  return Reason::kUnspecified;
}

Reason UsualReason(Code code) {
  for (const ReasonRow& row : kRows) {
    if (row.code == code) {
      return row.reason;
    }
  }
  return Reason::kUnspecified;
}

}  // namespace ptrace_prof

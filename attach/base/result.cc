#include "attach/base/result.h"

#include <cerrno>
#include <system_error>

namespace ptrace_prof {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kCancelled: return "CANCELLED";
    case Code::kUnknown: return "UNKNOWN";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case Code::kNotFound: return "NOT_FOUND";
    case Code::kAlreadyExists: return "ALREADY_EXISTS";
    case Code::kPermissionDenied: return "PERMISSION_DENIED";
    case Code::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition: return "FAILED_PRECONDITION";
    case Code::kGone: return "GONE";
    case Code::kOutOfRange: return "OUT_OF_RANGE";
    case Code::kUnimplemented: return "UNIMPLEMENTED";
    case Code::kInternal: return "INTERNAL";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kDataLoss: return "DATA_LOSS";
    case Code::kUnauthenticated: return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

namespace {

Code CodeForErrno(int err) {
  switch (err) {
    case ESRCH: return Code::kGone;
    case EPERM:
    case EACCES: return Code::kPermissionDenied;
    case ENOENT: return Code::kNotFound;
    case EEXIST: return Code::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return Code::kResourceExhausted;
    case EINVAL: return Code::kInvalidArgument;
    case ENOSYS: return Code::kUnimplemented;
    case ETIMEDOUT: return Code::kDeadlineExceeded;
    default: return Code::kInternal;
  }
}

Reason ReasonForErrno(int err) {
  switch (err) {
    case ENOSPC:
    case EDQUOT: return Reason::kDiskFull;
    case EMFILE:
    case ENFILE:
    case ENOMEM: return Reason::kOutOfResources;
    default: return Reason::kUnspecified;
  }
}

}  // namespace

Error Because(Reason reason, std::string message, std::string remedy, std::string thing) {
  return Error{CodeOf(reason), std::move(message), std::move(remedy), reason, std::move(thing)};
}

std::string ThingOf(Pid pid) { return "process " + std::to_string(pid.value); }

Reason ReasonOf(const Error& error) {
  return error.reason != Reason::kUnspecified ? error.reason : UsualReason(error.code);
}

Error ErrnoError(int err, std::string_view message, std::string_view remedy) {
  std::string text(message);
  if (err != 0) {  // 0: unknown
    text += ": ";
    text += std::generic_category().message(err);
  }
  return Error{CodeForErrno(err), std::move(text), std::string(remedy), ReasonForErrno(err)};
}

}  // namespace ptrace_prof

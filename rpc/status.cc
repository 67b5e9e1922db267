#include "rpc/status.h"

#include <grpcpp/support/status.h>

#include "attach/base/clean_text.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace ptrace_prof {
namespace {

// The usual reason of a code; an Error that knows better says so.
constexpr std::pair<Code, std::string_view> kReasons[] = {
    {Code::kCancelled, "CANCELLED"},
    {Code::kInvalidArgument, "INVALID_REQUEST"},
    {Code::kDeadlineExceeded, "DEADLINE_EXCEEDED"},
    {Code::kNotFound, "PROCESS_NOT_FOUND"},
    {Code::kAlreadyExists, "CAPTURE_EXISTS"},
    {Code::kPermissionDenied, "PERMISSION_DENIED"},
    {Code::kResourceExhausted, "QUOTA"},
    {Code::kFailedPrecondition, "NOT_PYTHON"},
    {Code::kGone, "TARGET_EXITED"},
    {Code::kOutOfRange, "BAD_OFFSET"},
    {Code::kUnimplemented, "PYTHON_UNSUPPORTED"},
    {Code::kInternal, "COLLECTOR_FAILED"},
    {Code::kUnavailable, "UNAVAILABLE"},
    {Code::kDataLoss, "DATA_LOSS"},
};

std::string_view UsualReason(Code code) {
  for (const auto& [known, reason] : kReasons) {
    if (known == code) {
      return reason;
    }
  }
  return "UNKNOWN";
}

bool FindInfo(const google::rpc::Status& status, google::rpc::ErrorInfo* info) {
  for (const auto& detail : status.details()) {
    if (detail.Is<google::rpc::ErrorInfo>() && detail.UnpackTo(info) && info->domain() == kErrorDomain) {
      return true;
    }
  }
  return false;
}

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) {
    details.Clear();
  }
  return details;
}

}  // namespace

void FillStatus(const Error& error, std::string_view reason, google::rpc::Status* out) {
  out->set_code(static_cast<int>(error.code));
  out->set_message(CleanText(error.message));
  google::rpc::ErrorInfo info;
  info.set_domain(kErrorDomain);
  info.set_reason(std::string(reason.empty() ? UsualReason(error.code) : reason));
  if (!error.remedy.empty()) {
    (*info.mutable_metadata())["remedy"] = CleanText(error.remedy);
  }
  out->add_details()->PackFrom(info);
}

grpc::Status ToStatus(const Error& error, std::string_view reason) {
  google::rpc::Status details;
  FillStatus(error, reason, &details);
  return {static_cast<grpc::StatusCode>(error.code), details.message(), details.SerializeAsString()};
}

Error FromStatus(const google::rpc::Status& status) {
  Error error{static_cast<Code>(status.code()), status.message(), ""};
  google::rpc::ErrorInfo info;
  if (FindInfo(status, &info)) {
    const auto remedy = info.metadata().find("remedy");
    error.remedy = remedy == info.metadata().end() ? "" : remedy->second;
  }
  return error;
}

Error FromStatus(const grpc::Status& status) {
  Error error = FromStatus(Details(status));
  error.code = static_cast<Code>(status.error_code());
  error.message = status.error_message();
  return error;
}

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::ErrorInfo info;
  return FindInfo(Details(status), &info) ? info.reason() : std::string();
}

}  // namespace ptrace_prof

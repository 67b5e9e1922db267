#include "rpc/connection/status.h"

#include <grpcpp/support/status.h>

#include "attach/base/clean_text.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace ptrace_prof {
namespace {

constexpr int kRetrySeconds = 1;  // other clients' dumps and listings end soon

bool FindInfo(const google::rpc::Status& status, google::rpc::ErrorInfo* info) {
  for (const auto& detail : status.details()) {
    if (detail.Is<google::rpc::ErrorInfo>() && detail.UnpackTo(info) && info->domain() == kErrorDomain) {
      return true;
    }
  }
  return false;
}

std::string Metadata(const google::rpc::ErrorInfo& info, const char* key) {
  const auto found = info.metadata().find(key);
  return found == info.metadata().end() ? "" : found->second;
}

google::rpc::Status Details(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) {
    details.Clear();
  }
  return details;
}

}  // namespace

void FillStatus(const Error& error, google::rpc::Status* out) {
  out->set_code(static_cast<int>(error.code));
  out->set_message(CleanText(error.message));
  if (error.code == Code::kOk) {
    return;
  }
  google::rpc::ErrorInfo info;
  info.set_domain(kErrorDomain);
  info.set_reason(std::string(ReasonName(ReasonOf(error))));
  if (!error.remedy.empty()) {
    (*info.mutable_metadata())["remedy"] = CleanText(error.remedy);
  }
  if (!error.thing.empty()) {
    (*info.mutable_metadata())["thing"] = CleanText(error.thing);
  }
  out->add_details()->PackFrom(info);
  if (error.reason == Reason::kQuota) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(kRetrySeconds);
    out->add_details()->PackFrom(retry);
  }
}

grpc::Status ToStatus(const Error& error) {
  google::rpc::Status details;
  FillStatus(error, &details);
  return {static_cast<grpc::StatusCode>(error.code), details.message(), details.SerializeAsString()};
}

Error FromStatus(const google::rpc::Status& status) {
  Error error{static_cast<Code>(status.code()), status.message(), ""};
  google::rpc::ErrorInfo info;
  if (FindInfo(status, &info)) {
    error.remedy = Metadata(info, "remedy");
    error.thing = Metadata(info, "thing");
    error.reason = ReasonNamed(info.reason());
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

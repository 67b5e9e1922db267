#include "client/remote/retries.h"

#include <grpcpp/support/status.h>

#include <string_view>

#include "rpc/connection/status.h"

namespace ptrace_prof {

bool IsOfTheWay(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE && ReasonOf(status).empty();
}

std::string ReasonOfTheWay(const grpc::Status& status) {
  std::string reason = status.error_message();
  for (const std::string_view around : {"last error: ", "UNKNOWN: "}) {
    if (const size_t at = reason.find(around); at != std::string::npos) {
      reason.erase(0, at + around.size());
    }
  }
  return reason;
}

}  // namespace ptrace_prof

#include "client/remote/retries.h"

#include <grpcpp/support/status.h>

#include "rpc/status.h"

namespace ptrace_prof {

bool IsOfTheWay(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE && ReasonOf(status).empty();
}

}  // namespace ptrace_prof

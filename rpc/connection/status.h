// Converts Error to a gRPC status and back without loss: code, sentence, reason, thing and remedy. A sentence may name
// things of the target whose bytes are not valid text; on the way out they are made valid.
//
// A Status carries a google.rpc.Status in its details (grpc-status-details-bin) with one google.rpc.ErrorInfo: domain
// "ptraceprof", the reason, and metadata "thing" and "remedy". A quota that other calls may free again also has a
// google.rpc.RetryInfo. The codes of Error are those of gRPC; kGone is ABORTED. Stateless.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"

namespace grpc {
class Status;
}
namespace google::rpc {
class Status;
}

namespace ptrace_prof {

inline constexpr char kErrorDomain[] = "ptraceprof";

grpc::Status ToStatus(const Error& error);
void FillStatus(const Error& error, google::rpc::Status* out);
// A reason that is not in our table (from a later version) becomes the default reason of the code.
Error FromStatus(const grpc::Status& status);
Error FromStatus(const google::rpc::Status& status);
// The reason in the ErrorInfo; empty if there is none.
std::string ReasonOf(const grpc::Status& status);

}  // namespace ptrace_prof

// Error ↔ gRPC status, both ways, with nothing lost: code, sentence, reason, thing and remedy. Sentences name things
// of the target, whose bytes may be no text: on the way out they are made text.
//
// A Status carries a google.rpc.Status in its details (grpc-status-details-bin) with one google.rpc.ErrorInfo: domain
// "ptraceprof", the reason, and metadata "thing" and "remedy"; a quota that others may free again with a
// google.rpc.RetryInfo, too. The codes of Error are those of gRPC already; kGone is ABORTED. Stateless.
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
// A reason that is not in our table (of a later version) is the usual one of the code then.
Error FromStatus(const grpc::Status& status);
Error FromStatus(const google::rpc::Status& status);
// As in the ErrorInfo; empty where there is none.
std::string ReasonOf(const grpc::Status& status);

}  // namespace ptrace_prof

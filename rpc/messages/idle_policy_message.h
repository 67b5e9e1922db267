// An IdlePolicy as it stands in messages, and back: one table for both. Stateless.
#pragma once

#include <optional>

#include "daemon/trace/capture_request.h"
#include "ptraceprof/v1/capture.pb.h"

namespace ptrace_prof {

ptraceprof::v1::IdlePolicy ToMessage(IdlePolicy policy);
// Nothing: a policy that is not known to this version.
std::optional<IdlePolicy> FromMessage(ptraceprof::v1::IdlePolicy message);

}  // namespace ptrace_prof

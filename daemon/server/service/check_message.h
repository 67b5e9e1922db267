// A Check as a message. Its text is made clean on the way: parts of it are the target's.
#pragma once

#include "daemon/trace/check.h"
#include "ptraceprof/v1/node_service.pb.h"

namespace ptrace_prof {

void FillCheck(const Check& check, ptraceprof::v1::Check* out);

}  // namespace ptrace_prof

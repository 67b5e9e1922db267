// Converts a Check to its message. Its text is cleaned, because parts of it come from the target.
#pragma once

#include "daemon/trace/check.h"
#include "ptraceprof/v1/node_service.pb.h"

namespace ptrace_prof {

void FillCheck(const Check& check, ptraceprof::v1::Check* out);

}  // namespace ptrace_prof

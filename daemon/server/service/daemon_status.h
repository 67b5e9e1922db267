// The answer of GetDaemonStatus: what a caller may know of the daemon.
#pragma once

#include "attach/base/types.h"
#include "daemon/server/captures/capture_registry.h"
#include "daemon/server/captures/daemon_facts.h"

namespace ptraceprof::v1 {
class DaemonStatus;
}

namespace ptrace_prof {

// The administrator and who started the daemon learn where it keeps things; of captures, everybody what
// CaptureRegistry::List gives.
void FillDaemonStatus(const DaemonFacts& facts, CaptureRegistry& captures, CaptureUser caller,
                      ptraceprof::v1::DaemonStatus* out);

}  // namespace ptrace_prof

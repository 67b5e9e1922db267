// The answer of GetDaemonStatus: what a caller may know about the daemon.
#pragma once

#include "attach/base/types.h"
#include "daemon/server/captures/capture_registry.h"
#include "daemon/server/captures/daemon_facts.h"

namespace ptraceprof::v1 {
class DaemonStatus;
}

namespace ptrace_prof {

// Only the administrator and the user who started the daemon learn where it stores data. Captures are counted as
// CaptureRegistry::List shows them to the caller.
void FillDaemonStatus(const DaemonFacts& facts, CaptureRegistry& captures, CaptureUser caller,
                      ptraceprof::v1::DaemonStatus* out);

}  // namespace ptrace_prof

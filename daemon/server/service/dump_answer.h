// The answer of DumpStacks, out of the trace of a dump that has ended.
#pragma once

#include <grpcpp/support/status.h>

#include "daemon/server/captures/capture_session.h"

namespace ptraceprof::v1 {
class DumpStacksResponse;
}

namespace ptrace_prof {

// The whole trace and the stacks in it; an error when it holds none, and says why. Of the stacks, what would make the
// answer too large is left out, and those threads are marked as truncated: in the trace they are whole.
grpc::Status FillDump(const CaptureSession& session, ptraceprof::v1::DumpStacksResponse* out);

}  // namespace ptrace_prof

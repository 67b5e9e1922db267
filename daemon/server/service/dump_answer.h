// The answer of DumpStacks, made from the trace of an ended dump.
#pragma once

#include <grpcpp/support/status.h>

#include "daemon/server/captures/capture_session.h"

namespace ptraceprof::v1 {
class DumpStacksResponse;
}

namespace ptrace_prof {

// Writes the whole trace and the stacks in it; returns the trace's error if it holds none. Frames that would make the
// answer too large are left out and their threads marked as truncated; the trace has them whole.
grpc::Status FillDump(const CaptureSession& session, ptraceprof::v1::DumpStacksResponse* out);

}  // namespace ptrace_prof

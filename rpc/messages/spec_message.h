// A CaptureRequest as the messages that ask for it: the opposite of request_from_message.h. Stateless.
#pragma once

#include "daemon/trace/capture_request.h"
#include "ptraceprof/v1/capture_service.pb.h"

namespace ptrace_prof {

ptraceprof::v1::Mode ToMessage(CaptureMode mode);
// All of it but `max_bytes` and `keep`, which are no matter of the collector's.
void FillSpec(const CaptureRequest& request, ptraceprof::v1::CaptureSpec* out);
void FillDumpRequest(const CaptureRequest& request, ptraceprof::v1::DumpStacksRequest* out);

}  // namespace ptrace_prof

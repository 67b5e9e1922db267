// Turns a request into a checked task for a collector, with its defaults filled in.
//
// A value that is out of range, contradictory or unknown to this version is an error that names the field
// (check_spec.h).
#pragma once

#include "attach/base/result.h"
#include "ptraceprof/v1/capture_service.pb.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

Result<CaptureTask> TaskFrom(const v1::CaptureSpec& spec);
Result<CaptureTask> TaskFrom(const v1::DumpStacksRequest& dump);
// The reverse, for a client of a daemon.
v1::DumpStacksRequest DumpRequestOf(const CaptureTask& task);

// Refuses fields that we do not know, at any depth, so that nothing a newer client asks for is ignored silently.
Result<void> RefuseUnknownFields(const google::protobuf::Message& message);

}  // namespace ptrace_prof

// What a caller asks for, as the task of a collector: checked, and with its defaults filled in.
//
// Whatever is out of range, contradicts itself or is not known to this version is an error that names the field
// (check_spec.h).
#pragma once

#include "attach/base/result.h"
#include "ptraceprof/v1/capture_service.pb.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

Result<CaptureTask> TaskFrom(const v1::CaptureSpec& spec);
Result<CaptureTask> TaskFrom(const v1::DumpStacksRequest& dump);
// The way back, for who asks a daemon.
v1::DumpStacksRequest DumpRequestOf(const CaptureTask& task);

// Nothing that a newer client asks for may be left out in silence: fields that we do not know are refused, at any
// depth.
Result<void> RefuseUnknownFields(const google::protobuf::Message& message);

}  // namespace ptrace_prof

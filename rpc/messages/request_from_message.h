// What a message asks for, as a CaptureRequest that was checked as strictly as one from the command line.
//
// Whatever is out of range, contradicts itself or is not known to this version is kInvalidArgument and names the field.
#pragma once

#include "attach/base/result.h"
#include "daemon/trace/capture_request.h"

namespace google::protobuf {
class Message;
}
namespace ptraceprof::v1 {
class CaptureSpec;
class DumpStacksRequest;
}  // namespace ptraceprof::v1

namespace ptrace_prof {

Result<CaptureRequest> RequestFrom(const ptraceprof::v1::CaptureSpec& spec);
Result<CaptureRequest> RequestFrom(const ptraceprof::v1::DumpStacksRequest& dump);

// Nothing that a newer client asks for may be left out in silence: fields that we do not know are refused, at any
// depth.
Result<void> RefuseUnknownFields(const google::protobuf::Message& message);

}  // namespace ptrace_prof

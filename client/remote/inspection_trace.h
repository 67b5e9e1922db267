// Turns gRPC listings and diagnoses into the trace that a collector would have written, so that commands have one input
// format for both.
#pragma once

#include <string>

#include "attach/base/result.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "ptraceprof/v1/node_service.grpc.pb.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

Result<std::string> ListAsTrace(ptraceprof::v1::CaptureService::Stub& stub, const CaptureTask& request);
Result<std::string> DiagnosisAsTrace(ptraceprof::v1::NodeService::Stub& stub, const CaptureTask& request);

}  // namespace ptrace_prof

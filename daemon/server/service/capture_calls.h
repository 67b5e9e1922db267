// The streaming calls about captures; each creates an object that lives as long as its call.
#pragma once

#include <functional>
#include <memory>

#include "daemon/server/captures/capture_registry.h"
#include "daemon/server/service/reader.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"

namespace ptrace_prof {

using TraceChunkWriter = grpc::ServerWriteReactor<ptraceprof::v1::TraceChunk>;
using RecordWriter = grpc::ServerWriteReactor<ptraceprof::v1::RecordEvent>;
using WatchWriter = grpc::ServerWriteReactor<ptraceprof::v1::CaptureEvent>;

// Gets the capture that a call reads. It may have to be started, or its trace searched, first.
using GetCapture = std::function<Result<std::shared_ptr<CaptureSession>>()>;

// `get` also checks that `offset` is the beginning of a packet. It returns null if it must be called again.
TraceChunkWriter* StartReadTrace(GetCapture get, const ptraceprof::v1::ReadTraceRequest& request, const Reader& reader);
WatchWriter* StartWatch(std::shared_ptr<CaptureSession> session, const Reader& reader);
// Ends the capture with the call, and forgets it unless it is to be kept.
RecordWriter* StartRecord(GetCapture start, CaptureRegistry& captures, const Reader& reader);

}  // namespace ptrace_prof

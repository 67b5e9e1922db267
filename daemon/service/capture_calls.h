// The streaming calls about captures: each makes an object that lives as long as its call.
#pragma once

#include <memory>

#include "daemon/session/capture_registry.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"

namespace ptrace_prof {

using TraceChunkWriter = grpc::ServerWriteReactor<ptraceprof::v1::TraceChunk>;
using RecordWriter = grpc::ServerWriteReactor<ptraceprof::v1::RecordEvent>;
using WatchWriter = grpc::ServerWriteReactor<ptraceprof::v1::CaptureEvent>;

// To whom something is sent, and in which pieces.
struct Reader {
  uint32_t chunk_size = 0;
  UnsentBytes& unsent;
  uint32_t user = 0;
};

// The request was checked: `offset` is the beginning of a packet.
TraceChunkWriter* StartReadTrace(std::shared_ptr<CaptureSession> session,
                                 const ptraceprof::v1::ReadTraceRequest& request, Reader reader);
WatchWriter* StartWatch(std::shared_ptr<CaptureSession> session, Reader reader);
// Ends the capture with the call, and forgets it, unless it is to be kept.
RecordWriter* StartRecord(std::shared_ptr<CaptureSession> session, CaptureRegistry& captures, Reader reader);

}  // namespace ptrace_prof

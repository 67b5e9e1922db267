// CaptureService of ptraceprof.v1 for one caller. Callback API; see profiler_service.h.
#pragma once

#include "daemon/server/captures/caller_access.h"
#include "daemon/server/captures/capture_registry.h"
#include "daemon/server/service/answer_at_end.h"
#include "daemon/server/service/call_resources.h"
#include "daemon/server/service/reader.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

class CaptureServiceImpl : public ptraceprof::v1::CaptureService::CallbackService {
 public:
  CaptureServiceImpl(PeerIdentity caller, CaptureRegistry& captures, CallResources& resources,
                     const CallerAccess& access)
      : caller_(std::move(caller)), captures_(captures), resources_(resources), access_(access) {}

  grpc::ServerUnaryReactor* ListProcesses(grpc::CallbackServerContext* context,
                                          const ptraceprof::v1::ListProcessesRequest* request,
                                          ptraceprof::v1::ListProcessesResponse* response) override;
  grpc::ServerUnaryReactor* DumpStacks(grpc::CallbackServerContext* context,
                                       const ptraceprof::v1::DumpStacksRequest* request,
                                       ptraceprof::v1::DumpStacksResponse* response) override;
  grpc::ServerUnaryReactor* CreateCapture(grpc::CallbackServerContext* context,
                                          const ptraceprof::v1::CreateCaptureRequest* request,
                                          ptraceprof::v1::Capture* response) override;
  grpc::ServerUnaryReactor* GetCapture(grpc::CallbackServerContext* context,
                                       const ptraceprof::v1::GetCaptureRequest* request,
                                       ptraceprof::v1::Capture* response) override;
  grpc::ServerUnaryReactor* ListCaptures(grpc::CallbackServerContext* context,
                                         const ptraceprof::v1::ListCapturesRequest* request,
                                         ptraceprof::v1::ListCapturesResponse* response) override;
  grpc::ServerUnaryReactor* CancelCapture(grpc::CallbackServerContext* context,
                                          const ptraceprof::v1::CancelCaptureRequest* request,
                                          ptraceprof::v1::Capture* response) override;
  grpc::ServerUnaryReactor* DeleteCapture(grpc::CallbackServerContext* context,
                                          const ptraceprof::v1::DeleteCaptureRequest* request,
                                          google::protobuf::Empty* response) override;
  grpc::ServerWriteReactor<ptraceprof::v1::CaptureEvent>* WatchCapture(
      grpc::CallbackServerContext* context, const ptraceprof::v1::WatchCaptureRequest* request) override;
  grpc::ServerWriteReactor<ptraceprof::v1::TraceChunk>* ReadTrace(
      grpc::CallbackServerContext* context, const ptraceprof::v1::ReadTraceRequest* request) override;
  grpc::ServerWriteReactor<ptraceprof::v1::RecordEvent>* Record(grpc::CallbackServerContext* context,
                                                                const ptraceprof::v1::RecordRequest* request) override;
  grpc::ServerWriteReactor<ptraceprof::v1::SampleBatch>* StreamSamples(
      grpc::CallbackServerContext* context, const ptraceprof::v1::StreamSamplesRequest* request) override;

 private:
  // Finds the capture that `request` names.
  template <typename Request>
  Result<std::shared_ptr<CaptureSession>> FindNamedIn(const Request& request, std::string_view what);
  Result<CaptureRegistry::Creation> CreationFrom(const ptraceprof::v1::CaptureSpec& spec,
                                                 const std::string& request_id);
  void ReportIfAnothers(std::string_view what, const CaptureSession& session);
  StartOfCapture HiddenStart(const CaptureTask& request);
  Reader ReaderOf(uint32_t chunk_size = 0);
  HeldAnswer Held(google::protobuf::MessageLite& message);

  const PeerIdentity caller_;
  CaptureRegistry& captures_;
  CallResources& resources_;
  const CallerAccess access_;
};

}  // namespace ptrace_prof

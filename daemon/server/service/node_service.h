// NodeService of ptraceprof.v1 for one caller. Callback API; see profiler_service.h.
#pragma once

#include "daemon/server/captures/caller_access.h"
#include "daemon/server/captures/capture_registry.h"
#include "daemon/server/captures/daemon_facts.h"
#include "daemon/server/service/call_resources.h"
#include "ptraceprof/v1/node_service.grpc.pb.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

class NodeServiceImpl : public ptraceprof::v1::NodeService::CallbackService {
 public:
  // `facts`: null if this is no daemon.
  NodeServiceImpl(PeerIdentity caller, CaptureRegistry& captures, CallResources& resources, const CallerAccess& access,
                  const DaemonFacts* facts)
      : caller_(std::move(caller)), captures_(captures), resources_(resources), access_(access), facts_(facts) {}

  grpc::ServerUnaryReactor* GetNode(grpc::CallbackServerContext* context, const ptraceprof::v1::GetNodeRequest* request,
                                    ptraceprof::v1::Node* response) override;
  grpc::ServerUnaryReactor* GetDaemonStatus(grpc::CallbackServerContext* context,
                                            const ptraceprof::v1::GetDaemonStatusRequest* request,
                                            ptraceprof::v1::DaemonStatus* response) override;

 private:
  const PeerIdentity caller_;
  CaptureRegistry& captures_;
  CallResources& resources_;
  const CallerAccess access_;
  const DaemonFacts* const facts_;
};

}  // namespace ptrace_prof

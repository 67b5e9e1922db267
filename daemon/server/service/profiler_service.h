// The gRPC services of ptraceprof.v1 for one caller, over captures that all callers share.
//
// Make one for the peer of each accepted connection, register services() with that connection's server (rpc/…), and
// keep it as long as the server. Callback API: no call blocks a gRPC thread; waiting for the launcher and searching a
// long trace happen in the pool of the CallResources. Translates between messages and the domain; opens no memory
// of other processes.
#pragma once

#include <memory>
#include <vector>

#include "daemon/server/captures/caller_access.h"
#include "daemon/server/captures/capture_registry.h"
#include "daemon/server/captures/daemon_facts.h"
#include "daemon/server/service/call_resources.h"
#include "rpc/connection/peer_identity.h"

namespace grpc {
class Service;
}

namespace ptrace_prof {

class CaptureServiceImpl;
class NodeServiceImpl;

class ProfilerService {
 public:
  // `access` is that of `caller`: collectors start with its rights. `facts` describe the daemon; null if this is no
  // daemon. All referenced objects outlive this one.
  ProfilerService(const PeerIdentity& caller, CaptureRegistry& captures, CallResources& resources,
                  const CallerAccess& access, const DaemonFacts* facts = nullptr);
  ~ProfilerService();

  std::vector<grpc::Service*> services();
  CaptureServiceImpl& captures();
  NodeServiceImpl& node();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptrace_prof

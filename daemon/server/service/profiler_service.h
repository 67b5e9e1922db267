// The gRPC services of ptraceprof.v1 for one caller, over captures that all callers share.
//
// Whoever accepts a connection makes one of these for its peer, registers services() with a server for that connection
// (rpc/…), and keeps it as long as that server. Callback API: no call blocks a thread of gRPC's; what has to
// wait for the launcher, or to look through a long trace, does so in the registry's pool (start_pool.h). Knows messages
// and the domain; opens no other process's memory.
#pragma once

#include <memory>
#include <vector>

#include "daemon/server/captures/capture_registry.h"
#include "daemon/server/captures/collector.h"
#include "daemon/server/captures/daemon_facts.h"
#include "rpc/connection/peer_identity.h"

namespace grpc {
class Service;
}

namespace ptrace_prof {

class CaptureServiceImpl;
class NodeServiceImpl;

class ProfilerService {
 public:
  // `starter` starts collectors with the rights of `caller`; `facts` are the daemon's, null where this is none. All
  // that is referred to outlives this object.
  ProfilerService(const PeerIdentity& caller, CaptureRegistry& captures, CollectorStarter& starter,
                  const DaemonFacts* facts = nullptr);
  ~ProfilerService();

  std::vector<grpc::Service*> services();
  CaptureServiceImpl& captures();
  NodeServiceImpl& node();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptrace_prof

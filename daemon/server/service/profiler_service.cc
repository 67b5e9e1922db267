#include "daemon/server/service/profiler_service.h"

#include "daemon/server/service/capture_service.h"
#include "daemon/server/service/node_service.h"

namespace ptrace_prof {

struct ProfilerService::Impl {
  Impl(const PeerIdentity& caller, CaptureRegistry& registry, CallResources& resources, const CallerAccess& access,
       const DaemonFacts* facts)
      : captures(caller, registry, resources, access), node(caller, registry, resources, access, facts) {}

  CaptureServiceImpl captures;
  NodeServiceImpl node;
};

ProfilerService::ProfilerService(const PeerIdentity& caller, CaptureRegistry& captures, CallResources& resources,
                                 const CallerAccess& access, const DaemonFacts* facts)
    : impl_(std::make_unique<Impl>(caller, captures, resources, access, facts)) {}

ProfilerService::~ProfilerService() = default;

CaptureServiceImpl& ProfilerService::captures() { return impl_->captures; }

NodeServiceImpl& ProfilerService::node() { return impl_->node; }

std::vector<grpc::Service*> ProfilerService::services() { return {&impl_->captures, &impl_->node}; }

}  // namespace ptrace_prof

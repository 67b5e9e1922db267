#include "daemon/service/profiler_service.h"

#include "daemon/service/capture_service.h"
#include "daemon/service/node_service.h"

namespace ptrace_prof {

struct ProfilerService::Impl {
  Impl(const PeerIdentity& caller, CaptureRegistry& registry, CollectorStarter& starter)
      : captures(caller, registry, starter), node(caller, registry, starter) {}

  CaptureServiceImpl captures;
  NodeServiceImpl node;
};

ProfilerService::ProfilerService(const PeerIdentity& caller, CaptureRegistry& captures, CollectorStarter& starter)
    : impl_(std::make_unique<Impl>(caller, captures, starter)) {}

ProfilerService::~ProfilerService() = default;

std::vector<grpc::Service*> ProfilerService::services() { return {&impl_->captures, &impl_->node}; }

}  // namespace ptrace_prof

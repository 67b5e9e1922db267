#include "daemon/service/profiler_service.h"

#include "daemon/service/capture_service.h"

namespace ptrace_prof {

struct ProfilerService::Impl {
  Impl(const PeerIdentity& caller, CaptureRegistry& registry, CollectorStarter& starter)
      : captures(caller, registry, starter) {}

  CaptureServiceImpl captures;
};

ProfilerService::ProfilerService(PeerIdentity caller, CaptureRegistry& captures, CollectorStarter& starter)
    : impl_(std::make_unique<Impl>(caller, captures, starter)) {}

ProfilerService::~ProfilerService() = default;

std::vector<grpc::Service*> ProfilerService::services() { return {&impl_->captures}; }

}  // namespace ptrace_prof

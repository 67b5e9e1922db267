// The services of ptraceprof.v1 for connections whose caller is determined per call: each call is forwarded to the
// ProfilerService of its caller.
//
// Thread-safe if the route is. Objects that the route returns live as long as the connection.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "attach/base/result.h"
#include "rpc/connection/call_claims.h"

namespace grpc {
class Service;
}

namespace ptrace_prof {

class ProfilerService;

// Called on gRPC's threads for each call; an error becomes that call's answer.
using ProfilerRoute = std::function<Result<ProfilerService*>(const CallClaims&)>;

class RoutedProfiler {
 public:
  explicit RoutedProfiler(ProfilerRoute route);
  ~RoutedProfiler();

  std::vector<grpc::Service*> services();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptrace_prof

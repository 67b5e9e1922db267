// The services of ptraceprof.v1 for callers who are found out call by call: each is handed on to the ProfilerService of
// that call's caller.
//
// Thread-safe if the route is. Whatever the route returns lives as long as the connection.
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

// Called on gRPC's threads, for each call; an error is the answer to that call.
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

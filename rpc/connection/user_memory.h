// The memory that gRPC may use for the calls of one user, over all connections of that user together.
//
// A client that begins calls or messages and never finishes them holds memory as long as its connection lasts. Near the
// limit gRPC ends such calls, of that user only. Not thread-safe. A quota lives as long as a connection holds it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "attach/base/types.h"

namespace grpc {
class ResourceQuota;
}

namespace ptrace_prof {

class UserMemory {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 20;

  std::shared_ptr<grpc::ResourceQuota> Of(Uid user);

 private:
  std::map<Uid, std::weak_ptr<grpc::ResourceQuota>> quotas_;
};

}  // namespace ptrace_prof

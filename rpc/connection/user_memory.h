// The memory that gRPC may take for the calls of one user, over all connections of that user together.
//
// Who begins calls and never says what they are about, or messages and never ends them, holds memory for as long as the
// connection lasts; near the limit gRPC gives such calls up, of that user only. Not thread-safe; a quota lives as long
// as a connection holds it.
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

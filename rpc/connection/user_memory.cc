#include "rpc/connection/user_memory.h"

#include <fmt/format.h>
#include <grpcpp/resource_quota.h>

namespace ptrace_prof {

std::shared_ptr<grpc::ResourceQuota> UserMemory::Of(Uid user) {
  std::erase_if(quotas_, [](const auto& known) { return known.second.expired(); });
  if (auto known = quotas_[user].lock(); known != nullptr) {
    return known;
  }
  auto quota = std::make_shared<grpc::ResourceQuota>(fmt::format("user {}", user.value));
  quota->Resize(kMostBytes);
  quotas_[user] = quota;
  return quota;
}

}  // namespace ptrace_prof

#include "daemon/collector/torch/torch_blocks.h"

#include <utility>

namespace ptrace_prof {
namespace {

constexpr size_t kMostBlocks = 1 << 20;

}  // namespace

void TorchBlocks::Allocated(uint64_t address, int64_t bytes) {
  (void)Freed(address);  // that was lost
  if (blocks_.size() < kMostBlocks) {
    blocks_.emplace(address, bytes);
    bytes_ += bytes;
  }
}

std::optional<int64_t> TorchBlocks::Freed(uint64_t address) {
  const auto block = blocks_.find(address);
  if (block == blocks_.end()) {
    return std::nullopt;
  }
  const int64_t bytes = block->second;
  blocks_.erase(block);
  bytes_ -= bytes;
  return bytes;
}

}  // namespace ptrace_prof

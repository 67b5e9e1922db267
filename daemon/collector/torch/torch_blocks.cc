#include "daemon/collector/torch/torch_blocks.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostBlocks = 1 << 20;

}  // namespace

void TorchBlocks::Allocated(uint64_t address, int64_t bytes, TorchDevice device) {
  (void)Freed(address);  // that was lost
  if (blocks_.size() < kMostBlocks) {
    blocks_.emplace(address, TorchBlock{bytes, device});
    cpu_bytes_ += device.is_cpu() ? bytes : 0;
  }
}

bool TorchBlocks::Met(uint64_t address, int64_t bytes, TorchDevice device) {
  const auto known = blocks_.find(address);
  if (known != blocks_.end() && (!known->second.was_there || known->second.bytes == bytes)) {
    return false;
  }
  if (known == blocks_.end() && blocks_.size() >= kMostBlocks) {
    return false;
  }
  blocks_[address] = {bytes, device, true};  // memory of others, such as numpy's, changes without a word
  return true;
}

std::optional<TorchBlock> TorchBlocks::Freed(uint64_t address) {
  const auto known = blocks_.find(address);
  if (known == blocks_.end()) {
    return std::nullopt;
  }
  const TorchBlock block = known->second;
  blocks_.erase(known);
  cpu_bytes_ -= block.device.is_cpu() && !block.was_there ? block.bytes : 0;
  return block;
}

}  // namespace ptrace_prof

// The blocks of memory that PyTorch holds: the allocator of CPU memory does not say how large what it frees is.
//
// Events must come in the order of time, over all threads. Memory is bounded. One owner, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "daemon/trace/allocation.h"

namespace ptrace_prof {

struct TorchBlock {
  int64_t bytes = 0;
  TorchDevice device;
  bool was_there = false;  // before the recording
};

class TorchBlocks {
 public:
  void Allocated(uint64_t address, int64_t bytes, TorchDevice device);
  // A tensor is there. Returns whether that was not known.
  bool Met(uint64_t address, int64_t bytes, TorchDevice device);
  // What it was; nullopt: it was allocated before the recording and no tensor in it was met, or its allocation was
  // lost.
  std::optional<TorchBlock> Freed(uint64_t address);
  // CPU memory that was allocated meanwhile and not freed.
  uint64_t cpu_bytes() const { return static_cast<uint64_t>(cpu_bytes_); }

 private:
  std::unordered_map<uint64_t, TorchBlock> blocks_;  // by address
  int64_t cpu_bytes_ = 0;
};

}  // namespace ptrace_prof

// The blocks of CPU memory that PyTorch holds: its allocator does not say how large what it frees is.
//
// Events must come in the order of time, over all threads. Memory is bounded. One owner, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace ptrace_prof {

class TorchBlocks {
 public:
  void Allocated(uint64_t address, int64_t bytes);
  // How large it was; nullopt: it was allocated before the recording, or its allocation was lost.
  std::optional<int64_t> Freed(uint64_t address);
  // What was allocated meanwhile and not freed.
  uint64_t bytes() const { return static_cast<uint64_t>(bytes_); }

 private:
  std::unordered_map<uint64_t, int64_t> blocks_;  // bytes by address
  int64_t bytes_ = 0;
};

}  // namespace ptrace_prof

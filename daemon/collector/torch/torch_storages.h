// Where the tensors that an operator gets have their memory.
//
// The hook writes it between their sizes (attach/abi/torch_arena.h). It differs each time, their sizes hardly do, so it
// is taken out of the words. They are untrusted. Plain function.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/trace/allocation.h"

namespace ptrace_prof {

struct TensorStorage {
  uint64_t address = 0;
  int64_t bytes = 0;
  TorchDevice device;

  bool operator==(const TensorStorage&) const = default;
};

// In the order of the tensors that have memory, also those in lists. Afterwards the words are as if it was not
// recorded.
std::vector<TensorStorage> TakeStorages(std::vector<uint64_t>& words);

}  // namespace ptrace_prof

// What was allocated when most memory of a device was: by category, by operator, by line of Python, and the largest
// blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/base/types.h"
#include "daemon/export/memory_curve.h"
#include "daemon/export/memory_ledger.h"
#include "daemon/export/thread_stacks.h"
#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

struct MemoryShare {
  std::string name;
  int64_t bytes = 0;
  uint64_t blocks = 0;
};

struct MemoryPeak {
  Nanos when;
  int64_t bytes = 0;
  std::vector<MemoryShare> by_category;  // the largest first, as in all lists
  std::vector<MemoryShare> by_operator;  // that the program or autograd called
  std::vector<MemoryShare> by_line;      // of the innermost function that is not installed as a package
  std::vector<MemoryShare> largest;      // blocks, each with its category and its name or operator
};

MemoryPeak PeakOf(const MemoryLedger& ledger, TorchDevice device, const std::vector<MemoryPoint>& curve,
                  const ThreadStacks& threads, const StackTable& stacks);

}  // namespace ptrace_prof

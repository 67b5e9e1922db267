// Which operator of a thread ran at a moment: the innermost one, whose work a launch then was. As in torch.profiler,
// ranges do not count; the caller leaves them out, and operators that may end on another thread.
//
// Operators come in any order. Memory: one entry for each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

using OperatorThread = std::pair<int32_t, int32_t>;  // pid and tid: a thread may have several tracks

class OperatorLinks {
 public:
  void Add(OperatorThread thread, Nanos begin, Nanos end, uint64_t id);
  // The id of the innermost operator; nullopt: none ran.
  std::optional<uint64_t> At(OperatorThread thread, Nanos when);
  bool is_empty() const { return threads_.empty(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Entry {
    Nanos begin;
    Nanos end;
    uint64_t id = 0;
    uint32_t around = kNone;  // the innermost entry that contains this one, once they are sorted
  };
  struct Thread {
    std::vector<Entry> entries;
    bool is_sorted = false;  // by begin, callers first
  };

  static void Sort(Thread& thread);

  std::map<OperatorThread, Thread> threads_;
};

}  // namespace ptrace_prof

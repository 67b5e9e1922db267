// The operators of PyTorch, added up by name: what key_averages() of torch.profiler says.
//
// The total time of an operator contains what it calls on its thread, its self time does not. Memory: the finished
// operators of each thread whose caller may still come, up to a limit, and one row per name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attach/base/types.h"
#include "daemon/trace/operator.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

struct OperatorRow {
  std::string name;
  uint64_t count = 0;
  Nanos self;
  Nanos total;
  bool is_range = false;  // the program marks it
};

class OperatorTotals {
 public:
  void Add(TrackId track, const Operator& one);
  bool is_empty() const { return rows_.empty(); }
  // Most self time first.
  std::vector<OperatorRow> Rows() const;

 private:
  struct Finished {
    Nanos begin;
    Nanos end;
  };

  std::map<std::pair<std::string, bool>, OperatorRow, std::less<>> rows_;
  std::unordered_map<uint32_t, std::vector<Finished>> finished_;  // by track, in the order of their ends
};

}  // namespace ptrace_prof

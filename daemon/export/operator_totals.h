// The operators of PyTorch, added up by name, or by name and sizes: what key_averages() of torch.profiler says.
//
// The total time of an operator contains what it calls on its thread, its self time does not. Memory: the finished
// operators of each thread whose caller may still come, up to a limit, and one row per key.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "attach/base/types.h"
#include "daemon/export/exporter.h"
#include "daemon/trace/operator.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

struct OperatorRow {
  std::string name;
  std::string sizes;  // of the inputs, if rows are by sizes
  uint64_t count = 0;
  Nanos self;
  Nanos total;
  uint64_t flops = 0;     // of all calls whose sizes are known
  bool is_range = false;  // the program marks it
};

class OperatorTotals {
 public:
  explicit OperatorTotals(OperatorGrouping grouping = OperatorGrouping::kName) : grouping_(grouping) {}

  void Add(TrackId track, const Operator& one);
  bool is_empty() const { return rows_.empty(); }
  bool has_inputs() const { return has_inputs_; }
  bool has_flops() const { return has_flops_; }
  std::vector<OperatorRow> Rows(OperatorOrder order = OperatorOrder::kSelf) const;  // largest first

 private:
  struct Finished {
    Nanos begin;
    Nanos end;
  };
  using Key = std::tuple<std::string, std::string, bool>;  // name, sizes, whether it is a range

  OperatorRow& RowOf(const Operator& one);
  uint64_t Flops(const Operator& one);

  const OperatorGrouping grouping_;
  std::map<Key, OperatorRow> rows_;
  std::unordered_map<std::string, uint64_t> flops_;               // by name and inputs
  std::unordered_map<uint32_t, std::vector<Finished>> finished_;  // by track, in the order of their ends
  bool has_inputs_ = false;
  bool has_flops_ = false;
};

}  // namespace ptrace_prof

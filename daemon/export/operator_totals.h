// The operators of PyTorch, added up by name, or by name and sizes: what key_averages() of torch.profiler says.
//
// The total time of an operator contains what it calls on its thread, its self time does not. As in torch.profiler, an
// operator is one with its caller if that has the same name and calls nothing else (aten::div_ in aten::div_). The same
// holds for memory and for the time of a GPU; what a GPU did has rows of its own too. Memory: the finished operators of
// each thread whose caller may still come, up to a limit, and one row per key.
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

enum class OperatorRowKind : uint8_t {
  kOperator,  // and calls of CUDA
  kRange,     // the program marks it
  kDevice,    // work of a GPU: it has no CPU time
};

struct OperatorRow {
  std::string name;
  std::string group;  // if rows are by something else too: the sizes of the inputs, the overload, …
  uint64_t count = 0;
  Nanos self;
  Nanos total;
  int64_t cpu_memory = 0;  // allocated less freed, in bytes
  int64_t self_cpu_memory = 0;
  int64_t device_memory = 0;
  int64_t self_device_memory = 0;
  Nanos self_device;  // what a GPU took for what it launched
  Nanos total_device;
  uint64_t flops = 0;  // of all calls whose sizes are known
  OperatorRowKind kind = OperatorRowKind::kOperator;
};

class OperatorTotals {
 public:
  explicit OperatorTotals(OperatorGrouping grouping = OperatorGrouping::kName) : grouping_(grouping) {}

  // By name, shape or overload.
  void Add(TrackId track, const Operator& one);
  // Under a group that only the caller knows.
  // `device`: what a GPU took for what the operator launched itself.
  void Add(TrackId track, const Operator& one, uint64_t flops, const std::string& group, Nanos device = {});
  void AddDevice(std::string_view name, uint64_t count, Nanos time);
  std::string GroupOf(const Operator& one) const;  // by name, shape or overload
  uint64_t Flops(const Operator& one);             // 0: not known
  bool is_empty() const { return rows_.empty(); }
  bool has_inputs() const { return has_inputs_; }
  bool has_flops() const { return has_flops_; }
  bool has_memory() const { return has_memory_; }
  bool has_device_time() const { return has_device_time_; }
  bool has_device_memory() const { return has_device_memory_; }
  std::vector<OperatorRow> Rows(OperatorOrder order = OperatorOrder::kSelf) const;  // largest first

 private:
  // What an operator has besides its own time.
  struct Amounts {
    int64_t cpu_memory = 0;  // allocated less freed
    int64_t device_memory = 0;
    Nanos device_time;

    Amounts& operator+=(const Amounts& other) {
      cpu_memory += other.cpu_memory;
      device_memory += other.device_memory;
      device_time = device_time + other.device_time;
      return *this;
    }
  };
  // A call, with all that it called.
  struct Finished {
    Nanos begin;
    Nanos end;
    Nanos inside;  // of what it calls
    Amounts all;
    Amounts all_inside;  // of what it calls
    uint64_t flops = 0;
    OperatorRow* row = nullptr;

    Nanos took() const { return end - begin; }
  };
  using Key = std::tuple<std::string, std::string, OperatorRowKind>;  // name, group, kind

  static void Count(const Finished& call, int sign);
  OperatorRow& RowOf(std::string_view name, const std::string& group, OperatorRowKind kind);

  const OperatorGrouping grouping_;
  std::map<Key, OperatorRow> rows_;
  std::unordered_map<std::string, uint64_t> flops_;               // by name and inputs
  std::unordered_map<uint32_t, std::vector<Finished>> finished_;  // by track, in the order of their ends
  bool has_inputs_ = false;
  bool has_flops_ = false;
  bool has_memory_ = false;
  bool has_device_memory_ = false;
  bool has_device_time_ = false;
};

}  // namespace ptrace_prof

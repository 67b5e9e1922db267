#include "daemon/export/operator_totals.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "daemon/export/operator_flops.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostFinished = 1 << 16;  // of a thread
constexpr size_t kMostOperatorRows = 1 << 16;

}  // namespace

// A call as one more of its row (sign 1), or one less (-1).
void OperatorTotals::Count(const Finished& call, int sign) {
  OperatorRow& row = *call.row;
  row.count += static_cast<uint64_t>(sign);
  row.total.value += sign * call.took().value;
  row.self.value += sign * (call.took() - call.inside).value;
  row.cpu_memory += sign * call.memory.cpu;
  row.device_memory += sign * call.memory.device;
  row.self_cpu_memory += sign * (call.memory.cpu - call.memory_inside.cpu);
  row.self_device_memory += sign * (call.memory.device - call.memory_inside.device);
  row.flops += static_cast<uint64_t>(sign) * call.flops;
}

void OperatorTotals::Add(TrackId track, const Operator& one) {
  std::string group;
  if (grouping_ == OperatorGrouping::kShape && one.inputs != nullptr) {
    group = one.inputs->sizes;
  } else if (grouping_ == OperatorGrouping::kOverload) {
    group = one.overload;
  }
  Add(track, one, Flops(one), group);
}

void OperatorTotals::Add(TrackId track, const Operator& one, uint64_t flops, const std::string& group) {
  Finished call{.begin = one.begin, .end = one.end, .flops = flops, .row = &RowOf(one, group)};
  call.memory = {one.cpu_memory, one.device_memory};
  has_memory_ = has_memory_ || one.cpu_memory != 0;
  has_device_memory_ = has_device_memory_ || one.device_memory != 0;
  // An asynchronous operator is no caller of what its thread does meanwhile.
  if (!one.is_async) {
    std::vector<Finished>& finished = finished_[track.value];
    size_t called = 0;
    Finished last;
    for (; !finished.empty() && finished.back().begin >= one.begin && finished.back().end <= one.end; ++called) {
      last = finished.back();
      finished.pop_back();
      call.inside = call.inside + last.took();
      call.memory_inside += last.memory;
    }
    call.memory += call.memory_inside;
    if (called == 1 && last.row->name == one.name && call.row->name == one.name) {
      Count(last, -1);
      call.inside = last.inside;
      call.memory_inside = last.memory_inside;
    }
    if (finished.size() >= kMostFinished) {
      finished.erase(finished.begin(), finished.begin() + kMostFinished / 2);
    }
    finished.push_back(call);
  }
  Count(call, 1);
}

OperatorRow& OperatorTotals::RowOf(const Operator& one, const std::string& group) {
  Key key(one.name, group, one.is_range());
  auto row = rows_.find(key);
  if (row == rows_.end()) {
    if (rows_.size() >= kMostOperatorRows) {
      key = Key("[other operators]", "", false);
    }
    row = rows_.try_emplace(key).first;
    std::tie(row->second.name, row->second.group, row->second.is_range) = key;
  }
  return row->second;
}

uint64_t OperatorTotals::Flops(const Operator& one) {
  if (one.inputs == nullptr) {
    return 0;
  }
  has_inputs_ = true;
  std::string key = std::string(one.name) + one.inputs->sizes + one.inputs->values;
  auto known = flops_.find(key);
  if (known == flops_.end()) {
    if (flops_.size() >= kMostOperatorRows) {
      flops_.clear();
    }
    known = flops_.emplace(std::move(key), FlopsOf(one.name, *one.inputs).value_or(0)).first;
  }
  has_flops_ = has_flops_ || known->second > 0;
  return known->second;
}

std::vector<OperatorRow> OperatorTotals::Rows(OperatorOrder order) const {
  std::vector<OperatorRow> rows;
  rows.reserve(rows_.size());
  for (const auto& [key, row] : rows_) {
    if (row.count > 0) {
      rows.push_back(row);
    }
  }
  const auto weight = [order](const OperatorRow& row) -> double {
    switch (order) {
      case OperatorOrder::kSelf: return static_cast<double>(row.self.value);
      case OperatorOrder::kTotal: return static_cast<double>(row.total.value);
      case OperatorOrder::kMean: return static_cast<double>(row.total.value) / static_cast<double>(row.count);
      case OperatorOrder::kCount: return static_cast<double>(row.count);
      case OperatorOrder::kMemory: return static_cast<double>(row.self_cpu_memory + row.self_device_memory);
      case OperatorOrder::kFlops: return static_cast<double>(row.flops);
      case OperatorOrder::kName: break;
    }
    return 0;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const OperatorRow& a, const OperatorRow& b) {
    return std::tuple(weight(b), b.total, a.name) < std::tuple(weight(a), a.total, b.name);
  });
  if (order == OperatorOrder::kName) {
    std::ranges::stable_sort(rows, {}, &OperatorRow::name);
  }
  return rows;
}

}  // namespace ptrace_prof

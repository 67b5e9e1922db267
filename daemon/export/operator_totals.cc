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
  row.cpu_memory += sign * call.all.cpu_memory;
  row.device_memory += sign * call.all.device_memory;
  row.self_cpu_memory += sign * (call.all.cpu_memory - call.all_inside.cpu_memory);
  row.self_device_memory += sign * (call.all.device_memory - call.all_inside.device_memory);
  row.total_device.value += sign * call.all.device_time.value;
  row.self_device.value += sign * (call.all.device_time - call.all_inside.device_time).value;
  row.flops += static_cast<uint64_t>(sign) * call.flops;
}

std::string OperatorTotals::GroupOf(const Operator& one) const {
  if (grouping_ == OperatorGrouping::kShape && one.inputs != nullptr) {
    return one.inputs->sizes;
  }
  return std::string(grouping_ == OperatorGrouping::kOverload ? one.overload : "");
}

void OperatorTotals::Add(TrackId track, const Operator& one) { Add(track, one, Flops(one), GroupOf(one)); }

void OperatorTotals::Add(TrackId track, const Operator& one, uint64_t flops, const std::string& group, Nanos device) {
  OperatorRow& row = RowOf(one.name, group, one.is_range() ? OperatorRowKind::kRange : OperatorRowKind::kOperator);
  Finished call{.begin = one.begin, .end = one.end, .flops = flops, .row = &row};
  call.all = {one.cpu_memory, one.device_memory, device};
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
      call.all_inside += last.all;
    }
    call.all += call.all_inside;
    if (called == 1 && last.row->name == one.name && call.row->name == one.name) {
      Count(last, -1);
      call.inside = last.inside;
      call.all_inside = last.all_inside;
    }
    if (finished.size() >= kMostFinished) {
      finished.erase(finished.begin(), finished.begin() + kMostFinished / 2);
    }
    finished.push_back(call);
  }
  Count(call, 1);
}

void OperatorTotals::AddDevice(std::string_view name, uint64_t count, Nanos time) {
  OperatorRow& row = RowOf(name, "", OperatorRowKind::kDevice);
  row.count += count;
  row.self_device = row.self_device + time;
  row.total_device = row.total_device + time;
  has_device_time_ = true;
}

OperatorRow& OperatorTotals::RowOf(std::string_view name, const std::string& group, OperatorRowKind kind) {
  Key key(name, group, kind);
  auto row = rows_.find(key);
  if (row == rows_.end()) {
    if (rows_.size() >= kMostOperatorRows) {
      key = Key("[others]", "", kind);
    }
    row = rows_.try_emplace(key).first;
    std::tie(row->second.name, row->second.group, row->second.kind) = key;
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
      case OperatorOrder::kSelfDevice: return static_cast<double>(row.self_device.value);
      case OperatorOrder::kTotalDevice: return static_cast<double>(row.total_device.value);
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

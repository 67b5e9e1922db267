#include "daemon/export/operator_totals.h"

#include <algorithm>
#include <tuple>

namespace ptrace_prof {
namespace {

constexpr size_t kMostFinished = 1 << 16;  // of a thread
constexpr size_t kMostNames = 1 << 16;

}  // namespace

void OperatorTotals::Add(TrackId track, const Operator& one) {
  const Nanos took = one.end - one.begin;
  Nanos inside;
  // An asynchronous operator is no caller of what its thread does meanwhile.
  if (!one.is_async) {
    std::vector<Finished>& finished = finished_[track.value];
    for (; !finished.empty() && finished.back().begin >= one.begin && finished.back().end <= one.end;
         finished.pop_back()) {
      inside = inside + (finished.back().end - finished.back().begin);
    }
    if (finished.size() >= kMostFinished) {
      finished.erase(finished.begin(), finished.begin() + kMostFinished / 2);
    }
    finished.push_back({one.begin, one.end});
  }
  auto row = rows_.find(std::pair(std::string(one.name), one.is_range()));
  if (row == rows_.end()) {
    const std::string name(rows_.size() < kMostNames ? one.name : std::string_view("[other operators]"));
    row = rows_.try_emplace(std::pair(name, one.is_range())).first;
    row->second.name = name;
    row->second.is_range = one.is_range();
  }
  ++row->second.count;
  row->second.total = row->second.total + took;
  row->second.self = row->second.self + (took - inside);
}

std::vector<OperatorRow> OperatorTotals::Rows() const {
  std::vector<OperatorRow> rows;
  rows.reserve(rows_.size());
  for (const auto& [key, row] : rows_) {
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [](const OperatorRow& a, const OperatorRow& b) {
    return std::tuple(b.self, b.total, a.name) < std::tuple(a.self, a.total, b.name);
  });
  return rows;
}

}  // namespace ptrace_prof

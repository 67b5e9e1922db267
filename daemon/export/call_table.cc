#include "daemon/export/call_table.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace ptrace_prof {

std::vector<Nanos> CorrectedTimes(std::span<const StackTotal> totals, const StackTable& stacks, EventCost cost) {
  std::vector<double> taken(totals.size());
  const auto place_of = [&](TrackId track, StackId stack) {
    const auto before = [](const StackTotal& total, const std::pair<TrackId, StackId>& wanted) {
      return std::pair(total.track, total.stack) < wanted;
    };
    const auto found = std::lower_bound(totals.begin(), totals.end(), std::pair(track, stack), before);
    const bool there = found != totals.end() && found->track == track && found->stack == stack;
    return there ? static_cast<size_t>(found - totals.begin()) : totals.size();
  };
  for (size_t i = 0; i < totals.size(); ++i) {
    if (totals[i].stack == kEmptyStack) {
      continue;
    }
    const FrameKind kind = stacks.frame(stacks.leaf(totals[i].stack)).kind;
    const double each = kind == FrameKind::kMarker ? 0 : kind == FrameKind::kC ? cost.c_ns : cost.python_ns;
    const double events = static_cast<double>(totals[i].samples) * each;
    taken[i] += events;
    if (const size_t caller = place_of(totals[i].track, stacks.parent(totals[i].stack)); caller < totals.size()) {
      taken[caller] += events;
    }
  }
  std::vector<Nanos> times;
  times.reserve(totals.size());
  for (size_t i = 0; i < totals.size(); ++i) {
    const double left = static_cast<double>(totals[i].time.value) - taken[i];
    times.emplace_back(left > 0 ? std::llround(left) : 0);
  }
  return times;
}

std::vector<CallRow> CallRows(std::span<const StackTotal> totals, std::span<const Nanos> times,
                              FunctionTable& functions) {
  std::vector<CallRow> rows;
  std::vector<size_t> counted_in;  // the last total in which a function was counted, + 1
  std::vector<uint32_t> path;
  for (size_t i = 0; i < totals.size(); ++i) {
    functions.PathOf(totals[i].stack, path);
    rows.resize(functions.size());
    counted_in.resize(functions.size());
    for (const uint32_t function : path) {
      if (counted_in[function] != i + 1) {
        counted_in[function] = i + 1;
        rows[function].total = rows[function].total + times[i];
        rows[function].raw_total = rows[function].raw_total + totals[i].time;
      }
    }
    if (!path.empty()) {
      CallRow& row = rows[path.back()];
      row.calls += totals[i].calls;
      row.self = row.self + times[i];
      row.raw_self = row.raw_self + totals[i].time;
    }
  }
  for (uint32_t function = 0; function < rows.size(); ++function) {
    rows[function].function = function;
  }
  std::erase_if(rows, [](const CallRow& row) { return row.raw_total.value == 0 && row.calls == 0; });
  std::sort(rows.begin(), rows.end(), [](const CallRow& a, const CallRow& b) {
    return std::tuple(b.self, b.total, a.function) < std::tuple(a.self, a.total, b.function);
  });
  return rows;
}

}  // namespace ptrace_prof

#include "client/cli/top/top_rows.h"

#include <algorithm>
#include <tuple>

namespace ptrace_prof {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool InScope(const TopThread& thread, const std::optional<TopScope>& scope) {
  return !scope.has_value() || (thread.pid == scope->pid && (scope->tid.value == 0 || thread.tid == scope->tid));
}

double Share(uint64_t part, uint64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double GilShare(const TopTally& tally, uint64_t gil_nanos) {
  return std::min(
      1.0, tally.span().value > 0 ? static_cast<double>(gil_nanos) / static_cast<double>(tally.span().value) : 0.0);
}

uint64_t TotalAt(const TopTally& tally, ThreadIndex thread, PlaceId place) {
  const auto found = tally.cells().find(KeyOf(thread, place));
  return found != tally.cells().end() ? found->second.total : 0;
}

std::vector<TopRow> PlaceRows(const TopNames& names, const TopTally& tally, const TopQuery& query, PlaceLevel level) {
  std::unordered_map<PlaceId, TopCell> sums;
  for (const auto& [key, cell] : tally.cells()) {
    if (names.place(PlaceOf(key)).level == level && InScope(names.threads()[ThreadOf(key).value], query.scope)) {
      TopCell& sum = sums[PlaceOf(key)];
      sum.self += cell.self;
      sum.total += cell.total;
    }
  }
  std::vector<TopRow> rows;
  for (const auto& [id, sum] : sums) {
    const TopPlace& place = names.place(id);
    TopRow& row = rows.emplace_back();
    row.identity = id.value;
    row.name = place.function;
    row.file = place.file;
    row.line = place.line;
    row.self = sum.self;
    row.total = sum.total;
  }
  return rows;
}

std::vector<TopRow> ThreadRows(const TopNames& names, const TopTally& tally, const TopQuery& query) {
  std::vector<TopRow> rows;
  for (uint32_t i = 0; i < names.threads().size(); ++i) {
    const TopThread& thread = names.threads()[i];
    const uint64_t samples = TotalAt(tally, ThreadIndex(i), kWholeThread);
    const bool alive = thread.state != ThreadState::kUnknown;
    if ((samples == 0 && !alive) || !InScope(thread, query.scope)) {
      continue;
    }
    TopRow& row = rows.emplace_back();
    row.identity = (static_cast<uint64_t>(thread.pid.value) << 32) | static_cast<uint32_t>(thread.tid.value);
    row.name = thread.name;
    row.pid = thread.pid;
    row.tid = thread.tid;
    row.state = thread.state;
    row.holds_gil = thread.holds_gil;
    row.gil_share = GilShare(tally, TotalAt(tally, ThreadIndex(i), kGilTime));
    row.self = row.total = samples;
  }
  return rows;
}

struct ProcessSums {
  uint64_t self = 0;
  uint64_t total = 0;
  uint64_t gil = 0;
};

// Adds the samples to the process itself, and to the totals of its ancestors.
void AddToTree(const TopNames& names, Pid pid, uint64_t samples, std::map<Pid, ProcessSums>& sums) {
  sums[pid].self += samples;
  std::vector<Pid> seen;  // guards against cycles from a hostile collector
  while (std::find(seen.begin(), seen.end(), pid) == seen.end() && seen.size() < 64) {
    seen.push_back(pid);
    sums[pid].total += samples;
    const auto process = names.processes().find(pid);
    if (process == names.processes().end() || !names.processes().contains(process->second.parent_pid)) {
      return;
    }
    pid = process->second.parent_pid;
  }
}

std::vector<TopRow> ProcessRows(const TopNames& names, const TopTally& tally, const TopQuery& query) {
  std::map<Pid, ProcessSums> sums;
  for (uint32_t i = 0; i < names.threads().size(); ++i) {
    const TopThread& thread = names.threads()[i];
    const uint64_t samples = TotalAt(tally, ThreadIndex(i), kWholeThread);
    if ((samples > 0 || thread.state != ThreadState::kUnknown) && InScope(thread, query.scope)) {
      AddToTree(names, thread.pid, samples, sums);
      sums[thread.pid].gil += TotalAt(tally, ThreadIndex(i), kGilTime);
    }
  }
  std::vector<TopRow> rows;
  for (const auto& [pid, sum] : sums) {
    TopRow& row = rows.emplace_back();
    row.identity = static_cast<uint64_t>(pid.value);
    row.pid = pid;
    if (const auto process = names.processes().find(pid); process != names.processes().end()) {
      row.name = process->second.name;
      row.parent = process->second.parent_pid;
      row.command = process->second.command;
    } else if (pid.value == 0) {
      row.name = names.threads()[kOtherThreads.value].name;
    }
    row.self = sum.self;
    row.total = sum.total;
    row.gil_share = GilShare(tally, sum.gil);
  }
  return rows;
}

bool Matches(const TopRow& row, const std::string& filter) {
  return filter.empty() || ContainsText(row.name, filter) || ContainsText(row.file, filter) ||
         ContainsText(row.command, filter) ||
         (row.pid.value > 0 && std::to_string(row.pid.value).find(filter) != std::string::npos) ||
         (row.tid.value > 0 && std::to_string(row.tid.value).find(filter) != std::string::npos);
}

bool Before(const TopRow& a, const TopRow& b, TopSort sort) {
  const auto by_name = [](const TopRow& row) { return std::tie(row.name, row.file, row.line, row.identity); };
  switch (sort) {
    case TopSort::kSelf:
      return std::tie(b.self, b.total) != std::tie(a.self, a.total)
                 ? std::tie(b.self, b.total) < std::tie(a.self, a.total)
                 : by_name(a) < by_name(b);
    case TopSort::kTotal:
      return std::tie(b.total, b.self) != std::tie(a.total, a.self)
                 ? std::tie(b.total, b.self) < std::tie(a.total, a.self)
                 : by_name(a) < by_name(b);
    case TopSort::kName: return by_name(a) < by_name(b);
  }
  return false;
}

std::vector<TopRow> RowsOfView(const TopNames& names, const TopTally& tally, const TopQuery& query) {
  switch (query.view) {
    case TopView::kFunctions: return PlaceRows(names, tally, query, PlaceLevel::kFunction);
    case TopView::kLines: return PlaceRows(names, tally, query, PlaceLevel::kLine);
    case TopView::kThreads: return ThreadRows(names, tally, query);
    case TopView::kProcesses: return ProcessRows(names, tally, query);
  }
  return {};
}

}  // namespace

bool ContainsText(const std::string& text, const std::string& part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return Lower(a) == Lower(b); }) != text.end() ||
         part.empty();
}

std::vector<TopRow> MakeTopRows(const TopNames& names, const TopTally& tally, const TopQuery& query) {
  std::vector<TopRow> rows = RowsOfView(names, tally, query);
  std::erase_if(rows, [&](const TopRow& row) { return !Matches(row, query.filter); });
  for (TopRow& row : rows) {
    row.self_share = Share(row.self, tally.samples());
    row.total_share = Share(row.total, tally.samples());
  }
  std::sort(rows.begin(), rows.end(), [&](const TopRow& a, const TopRow& b) {
    return query.reversed ? Before(b, a, query.sort) : Before(a, b, query.sort);
  });
  return rows;
}

std::map<int32_t, TopCell> CountsOfLines(const TopNames& names, const TopTally& tally,
                                         const std::optional<TopScope>& scope, const std::string& file) {
  std::map<int32_t, TopCell> lines;
  for (const auto& [key, cell] : tally.cells()) {
    const TopPlace& place = names.place(PlaceOf(key));
    if (place.level == PlaceLevel::kSourceLine && place.file == file &&
        InScope(names.threads()[ThreadOf(key).value], scope)) {
      lines[place.line].self += cell.self;
      lines[place.line].total += cell.total;
    }
  }
  return lines;
}

}  // namespace ptrace_prof

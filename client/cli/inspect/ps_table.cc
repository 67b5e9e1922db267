#include "client/cli/inspect/ps_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kProcessColumns = 8;
constexpr std::array<std::string_view, kProcessColumns> kProcessTitles = {"PID", "USER",      "PYTHON", "RANK",
                                                                          "JOB", "CONTAINER", "GPU",    "COMMAND"};
constexpr size_t kCommand = kProcessColumns - 1;
using ProcessRow = std::array<std::string, kProcessColumns>;

std::string OrDash(std::string_view text) { return std::string(text.empty() ? "-" : text); }

std::string RankText(const ProcessEntry& entry) {
  if (!entry.rank.has_value()) {
    return "-";
  }
  return entry.world_size.has_value() ? fmt::format("{}/{}", *entry.rank, *entry.world_size)
                                      : fmt::format("{}", *entry.rank);
}

std::string JobText(const ProcessEntry& entry) {
  return entry.slurm_step.empty() ? entry.slurm_job : fmt::format("{}.{}", entry.slurm_job, entry.slurm_step);
}

std::string ContainerText(const ProcessEntry& entry) {
  return entry.container.empty() ? entry.container_runtime
                                 : fmt::format("{}:{}", entry.container_runtime, entry.container);
}

std::string GpuText(const ProcessEntry& entry) {
  std::string text;
  for (const std::string& library : entry.gpu_libraries) {
    const std::string_view name = library;
    text += (text.empty() ? "" : ",") + std::string(name.starts_with("lib") ? name.substr(3) : name);
  }
  return text;
}

ProcessRow ProcessCells(const ProcessEntry& entry, UserNames& users) {
  ProcessRow row = {std::to_string(entry.pid.value),
                    users.Of(entry.uid),
                    entry.python.empty() ? "?" : entry.python,
                    RankText(entry),
                    OrDash(JobText(entry)),
                    OrDash(ContainerText(entry)),
                    OrDash(GpuText(entry)),
                    CommandText(entry)};
  for (std::string& cell : row) {
    cell = CleanText(cell);
  }
  return row;
}

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

size_t Width(std::string_view text) {
  return text.size() - static_cast<size_t>(std::ranges::count_if(text, Continues));
}

// The first `width` characters of a printable text.
std::string_view Cut(std::string_view text, size_t width) {
  size_t at = 0;
  for (size_t seen = 0; at < text.size(); ++at) {
    if (!Continues(text[at]) && seen++ == width) {
      break;
    }
  }
  return text.substr(0, at);
}

std::string ProcessLine(const ProcessRow& row, const std::array<size_t, kProcessColumns>& widths, size_t columns) {
  std::string line;
  for (size_t i = 0; i < kCommand; ++i) {
    const std::string padding(widths[i] - Width(row[i]), ' ');
    line += (i == 0 ? padding + row[i] : row[i] + padding) + "  ";
  }
  line += row[kCommand];
  return std::string(columns == 0 ? line : Cut(line, columns)) + "\n";
}

std::string Remark(const ProcessEntry& entry, size_t indent) {
  if (entry.cause.empty()) {
    return "";
  }
  std::string text = fmt::format("{}^ {}: {}", std::string(indent, ' '),
                                 entry.profilable ? "limited" : "cannot be profiled", CleanText(entry.cause));
  return text + (entry.remedy.empty() ? "" : fmt::format(" -- {}", CleanText(entry.remedy))) + "\n";
}

}  // namespace

std::string CommandText(const ProcessEntry& entry) {
  std::string text;
  for (const std::string& word : entry.cmdline) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text.empty() ? "[" + entry.name + "]" : text;
}

std::string PsTable(std::span<const ProcessEntry> entries, UserNames& users, size_t columns) {
  std::vector<ProcessRow> rows(1);
  std::ranges::copy(kProcessTitles, rows.front().begin());
  for (const ProcessEntry& entry : entries) {
    rows.push_back(ProcessCells(entry, users));
  }
  std::array<size_t, kProcessColumns> widths{};
  for (const ProcessRow& row : rows) {
    for (size_t i = 0; i < kProcessColumns; ++i) {
      widths[i] = std::max(widths[i], Width(row[i]));
    }
  }
  std::string text = ProcessLine(rows.front(), widths, columns);
  for (size_t i = 0; i < entries.size(); ++i) {
    text += ProcessLine(rows[i + 1], widths, columns) + Remark(entries[i], widths[0] + 2);
  }
  return text;
}

}  // namespace ptrace_prof

#include "daemon/export/gpu_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/clean_text.h"
#include "daemon/export/number_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kRows = 20;          // of each table, if all tables are shown
constexpr size_t kReportRows = 1000;  // of the table chosen by --report
constexpr size_t kMaxGpuLabel = 200;
constexpr size_t kMaxFrames = 200;

double Millis(Nanos time) { return static_cast<double>(time.value) / 1e6; }
double InMicros(Nanos time) { return static_cast<double>(time.value) / 1e3; }

double Percent(Nanos part, Nanos whole) {
  return 100 * static_cast<double>(part.value) / static_cast<double>(std::max<int64_t>(whole.value, 1));
}

}  // namespace

std::string GpuTables::Share(Nanos part) const {
  return fmt::format("{:>8.2f} {:>13.3f}", Percent(part, totals_.all()), Millis(part));
}

void GpuTables::WriteMore(size_t rows, size_t limit) {
  if (rows > limit) {
    context_.out.Write(fmt::format("{:>30}… and {} more\n", "", WithCommas(rows - limit)));
  }
}

void GpuTables::WriteDevices() {
  for (const GpuDeviceRow& device : totals_.Devices()) {
    const GpuTime& time = device.time;
    const std::pair<std::string_view, Nanos> parts[] = {{"kernels ran", time.kernels},
                                                        {"copying, no kernel", time.copying},
                                                        {"idle: waiting for launches", time.launch},
                                                        {"idle: the host had waited (sync)", time.sync},
                                                        {"idle: nothing queued", time.nothing}};
    context_.out.Write(fmt::format("\n{} · {} from its first operation to its last, no kernel in {:.2f} %\n",
                                   device.label, DurationText(time.all), Percent(time.idle(), time.all)));
    for (const auto& [name, part] : parts) {
      context_.out.Write(fmt::format("{:>8.2f} % {:>13.3f} ms  {}\n", Percent(part, time.all), Millis(part), name));
    }
  }
}

void GpuTables::WriteKernels(size_t limit) {
  const std::vector<GpuNameRow> rows = totals_.Names();
  context_.out.Write(fmt::format("\nGPU time by kernel\n{:>8} {:>13} {:>10} {:>11} {:>11}  {}\n", "%", "ms", "count",
                                 "mean µs", "longest µs", "kernel"));
  for (const GpuNameRow& row : std::span(rows).first(std::min(limit, rows.size()))) {
    const double mean = InMicros(row.work.time) / static_cast<double>(row.work.count);
    context_.out.Write(fmt::format("{} {:>10} {:>11.3f} {:>11.3f}  {}\n", Share(row.work.time),
                                   WithCommas(row.work.count), mean, InMicros(row.work.longest),
                                   Shortened(CleanText(row.name), kMaxGpuLabel)));
  }
  WriteMore(rows.size(), limit);
}

// Root first, one line each, so that tools that fold stacks can read it.
void GpuTables::WriteStacks(size_t limit) {
  const auto rows = totals_.Stacks();
  context_.out.Write(fmt::format("\nGPU time by Python stack\n{:>8} {:>13} {:>10}  {}\n", "%", "ms", "count", "stack"));
  std::vector<uint32_t> path;
  for (const auto& [stack, work] : std::span(rows).first(std::min(limit, rows.size()))) {
    functions_.PathOf(stack, path);
    std::string text;
    for (const uint32_t function : std::span(path).first(std::min(path.size(), kMaxFrames))) {
      text += (text.empty() ? "" : ";") + Shortened(LabelOf(functions_.function(function)), kMaxGpuLabel);
    }
    context_.out.Write(fmt::format("{} {:>10}  {}\n", Share(work.time), WithCommas(work.count),
                                   text.empty() ? "[no Python stack]" : text));
  }
  WriteMore(rows.size(), limit);
}

void GpuTables::WriteFunctions(const std::vector<GpuFunctionRow>& rows, std::string_view what, size_t limit) {
  context_.out.Write(fmt::format("\nGPU time by {0}\n{1:>8} {2:>13} {3:>8} {4:>13} {5:>10}  {0}\n", what, "self %",
                                 "self ms", "total %", "total ms", "count"));
  for (const GpuFunctionRow& row : std::span(rows).first(std::min(limit, rows.size()))) {
    context_.out.Write(fmt::format("{} {} {:>10}  {}\n", Share(row.self), Share(row.total), WithCommas(row.count),
                                   Shortened(LabelOf(functions_.function(row.function)), kMaxGpuLabel)));
  }
  WriteMore(rows.size(), limit);
}

// The ranges of each thread, including nested ranges, so these times do not add up to a whole.
void GpuTables::WriteRanges(size_t limit) {
  const std::vector<GpuRangeRow> rows = totals_.Ranges();
  context_.out.Write(
      fmt::format("\nRanges and marks of the job (NVTX), time of its threads\n{:>13} {:>10} {:>11} {:>11}  {}\n", "ms",
                  "count", "mean µs", "longest µs", "domain: name"));
  for (const GpuRangeRow& row : std::span(rows).first(std::min(limit, rows.size()))) {
    const double mean = InMicros(row.work.time) / static_cast<double>(row.work.count);
    const std::string domain = row.domain.empty() ? "" : Shortened(CleanText(row.domain), kMaxGpuLabel) + ": ";
    context_.out.Write(fmt::format("{:>13.3f} {:>10} {:>11.3f} {:>11.3f}  {}{}\n", Millis(row.work.time),
                                   WithCommas(row.work.count), mean, InMicros(row.work.longest), domain,
                                   Shortened(CleanText(row.name), kMaxGpuLabel)));
  }
  WriteMore(rows.size(), limit);
}

void GpuTables::Write(GpuReport report) {
  if (report == GpuReport::kRanges) {
    if (totals_.Ranges().empty()) {
      context_.out.Write("\nNo NVTX range or mark: --gpu-detail full records them.\n");
    } else {
      WriteRanges(kReportRows);
    }
    return;
  }
  if (totals_.is_empty()) {
    context_.out.Write("\nNo kernel, copy or memset of a GPU.\n");
    return;
  }
  switch (report) {
    case GpuReport::kKernels:
      WriteDevices();
      WriteKernels(kReportRows);
      break;
    case GpuReport::kStacks: WriteStacks(kReportRows); break;
    case GpuReport::kRanges: break;  // handled above
    case GpuReport::kModules: {
      const auto rows = totals_.Modules(functions_);
      if (rows.empty()) {
        context_.out.Write("\nNo call of an nn.Module was recorded: --mode trace records them.\n");
      } else {
        WriteFunctions(rows, "nn.Module", kReportRows);
      }
      break;
    }
  }
}

void GpuTables::WriteAll() {
  if (!totals_.Ranges().empty()) {
    WriteRanges(kRows);
  }
  if (totals_.is_empty()) {
    return;
  }
  WriteDevices();
  WriteKernels(kRows);
  WriteFunctions(totals_.Functions(functions_), "Python function", kRows);
  if (const auto rows = totals_.Modules(functions_); !rows.empty()) {
    WriteFunctions(rows, "nn.Module", kRows);
  }
}

}  // namespace ptrace_prof

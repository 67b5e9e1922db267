#include "daemon/export/page_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostRows = 2000;  // of a table

void WriteMicros(Nanos time, JsonOutput& json) {
  const std::string text = time.value % 1000 == 0 ? fmt::format("{}", time.value / 1000)
                                                  : fmt::format("{}.{:03}", time.value / 1000, time.value % 1000);
  json.RawValue(text.data(), text.size(), rapidjson::kNumberType);
}

}  // namespace

uint32_t PageGpu::NameId(std::string_view name) {
  const auto [known, is_new] = name_ids_.try_emplace(name.data(), static_cast<uint32_t>(names_.size()));
  if (is_new) {
    names_.push_back(name);
  }
  return known->second;
}

void PageGpu::WriteDevices(JsonOutput& json) {
  json.Name("devices");
  json.StartArray();
  for (const GpuDeviceRow& device : totals_.Devices()) {
    const GpuTime& time = device.time;
    json.StartObject();
    json.Member("label", device.label);
    json.Name("time");  // in the order of the page's GPU_TIME
    json.StartArray();
    for (const Nanos part : {time.kernels, time.copying, time.launch, time.sync, time.nothing}) {
      WriteMicros(part, json);
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

// Pieces as numbers: gap before, length, busy (µs), name, kind, operations.
void PageGpu::WriteLanes(Nanos begin, JsonOutput& json) {
  json.Name("lanes");
  json.StartArray();
  for (const GpuLanes::Lane& lane : lanes_.Sorted()) {
    const GpuQueue& queue = recording_.gpu_queues[lane.queue.value];
    json.StartObject();
    json.Member("device", GpuLabel(recording_, queue.pid, queue.device));
    json.Member("label", GpuQueueLabel(queue));
    json.Name("pieces");
    json.StartArray();
    Nanos at = begin;
    for (const GpuLanes::Piece& piece : lane.pieces) {
      const Nanos from = std::max(piece.begin, at);
      const Nanos to = std::max(piece.end, from);
      WriteMicros(from - at, json);
      WriteMicros(to - from, json);
      WriteMicros(std::min(piece.busy, to - from), json);
      json.Uint(NameId(piece.name));
      json.Uint(static_cast<unsigned>(piece.kind));
      json.Uint64(piece.count);
      at = to;
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

// [name, kind, count, µs, longest µs]
void PageGpu::WriteKernels(JsonOutput& json) {
  const std::vector<GpuNameRow> rows = totals_.Names();
  json.Name("kernels");
  json.StartArray();
  for (const GpuNameRow& row : std::span(rows).first(std::min(rows.size(), kMostRows))) {
    json.StartArray();
    json.Uint(NameId(row.name));
    json.Uint(static_cast<unsigned>(row.kind));
    json.Uint64(row.work.count);
    WriteMicros(row.work.time, json);
    WriteMicros(row.work.longest, json);
    json.EndArray();
  }
  json.EndArray();
}

// [name, file, line, self µs, total µs, count]
void PageGpu::WriteFunctions(std::string_view name, const std::vector<GpuFunctionRow>& rows, JsonOutput& json) {
  json.Name(name);
  json.StartArray();
  for (const GpuFunctionRow& row : std::span(rows).first(std::min(rows.size(), kMostRows))) {
    const Function& function = functions_.function(row.function);
    json.StartArray();
    json.Text(function.name.empty() ? "<unnamed>" : function.name);
    json.Text(function.file);
    json.Int(function.line);
    WriteMicros(row.self, json);
    WriteMicros(row.total, json);
    json.Uint64(row.count);
    json.EndArray();
  }
  json.EndArray();
}

void PageGpu::WriteNames(JsonOutput& json) {
  json.Name("names");
  json.StartArray();
  for (const std::string_view name : names_) {
    json.Text(CleanText(name));
  }
  json.EndArray();
}

void PageGpu::Write(Nanos begin, JsonOutput& json) {
  if (recording_.gpu_operations == 0) {
    return;
  }
  json.Name("gpu");
  json.StartObject();
  WriteDevices(json);
  WriteLanes(begin, json);
  WriteKernels(json);
  WriteFunctions("functions", totals_.Functions(functions_), json);
  WriteFunctions("modules", totals_.Modules(functions_), json);
  json.Name("sources");  // GPU time by how the Python stack of its launch was found
  json.StartArray();
  for (const Nanos time : totals_.by_source()) {
    WriteMicros(time, json);
  }
  json.EndArray();
  WriteNames(json);
  json.EndObject();
}

}  // namespace ptrace_prof

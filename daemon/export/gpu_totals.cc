#include "daemon/export/gpu_totals.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/clean_text.h"

namespace ptrace_prof {

bool TakesGpuTime(GpuOperationKind kind) {
  return kind != GpuOperationKind::kSync && kind != GpuOperationKind::kOverhead;
}

std::string GpuLabel(const Recording& recording, Pid pid, uint32_t device) {
  if (device == kNoGpuNumber) {
    return "GPU";
  }
  for (const GpuDevice& known : recording.gpu_devices) {
    if (known.pid == pid && known.id == device && !known.name.empty()) {
      return fmt::format("GPU {} ({})", device, CleanText(known.name));
    }
  }
  return fmt::format("GPU {}", device);
}

std::string GpuQueueLabel(const GpuQueue& queue) {
  if (queue.is_overhead) {
    return "overhead of tracing";
  }
  if (queue.stream == kNoGpuNumber) {
    return queue.context == kNoGpuNumber ? "whole GPU" : fmt::format("context {}", queue.context);
  }
  return fmt::format("stream {}{}", queue.stream, queue.is_default ? " (default)" : "");
}

// One GPU that two processes see under different numbers gets one row.
std::string GpuTotals::DeviceOf(GpuQueueId id) const {
  const GpuQueue& queue = recording_.gpu_queues[id.value];
  for (const GpuDevice& known : recording_.gpu_devices) {
    if (known.pid == queue.pid && known.id == queue.device && !known.uuid.empty()) {
      return fmt::format("{}\n{}", GpuLabel(recording_, queue.pid, queue.device), known.uuid);
    }
  }
  const std::string label = GpuLabel(recording_, queue.pid, queue.device);
  return recording_.HasSeveralProcesses() ? fmt::format("{} of process {}", label, queue.pid.value) : label;
}

void GpuTotals::Add(GpuQueueId queue, const GpuOperation& operation) {
  const Nanos duration = std::max(operation.end - operation.begin, Nanos());
  if (queue.value >= device_of_queue_.size()) {
    device_of_queue_.resize(queue.value + 1);
  }
  if (recording_.gpu_queues[queue.value].device != kNoGpuNumber) {
    GpuIdle*& device = device_of_queue_[queue.value];
    if (device == nullptr) {
      device = &devices_[DeviceOf(queue)];
    }
    device->Add(operation);
  }
  if (!TakesGpuTime(operation.kind)) {
    return;
  }
  GpuNameRow& row = names_[operation.name];
  row.name = operation.name;
  row.kind = operation.kind;
  row.work.Add(duration);
  stacks_[operation.stack].Add(duration);
  const auto source = operation.stack == kEmptyStack ? GpuStackSource::kNone : operation.stack_source;
  by_source_[static_cast<size_t>(source)] = by_source_[static_cast<size_t>(source)] + duration;
  all_ = all_ + duration;
}

void GpuTotals::Add(const GpuAnnotation& annotation) {
  ranges_[{annotation.domain, annotation.name}].Add(std::max(annotation.end - annotation.begin, Nanos()));
}

std::vector<GpuRangeRow> GpuTotals::Ranges() const {
  std::vector<GpuRangeRow> rows;
  for (const auto& [key, work] : ranges_) {
    rows.push_back({key.first, key.second, work});
  }
  std::ranges::stable_sort(rows, [](const GpuRangeRow& a, const GpuRangeRow& b) { return a.work.time > b.work.time; });
  return rows;
}

std::vector<GpuNameRow> GpuTotals::Names() const {
  std::vector<GpuNameRow> rows;
  for (const auto& [name, row] : names_) {
    rows.push_back(row);
  }
  std::sort(rows.begin(), rows.end(), [](const GpuNameRow& a, const GpuNameRow& b) {
    return std::tuple(b.work.time, a.name, a.kind) < std::tuple(a.work.time, b.name, b.kind);
  });
  return rows;
}

std::vector<std::pair<StackId, GpuWork>> GpuTotals::Stacks() const {
  std::vector<std::pair<StackId, GpuWork>> rows(stacks_.begin(), stacks_.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::tuple(b.second.time, a.first) < std::tuple(a.second.time, b.first);
  });
  return rows;
}

std::vector<GpuFunctionRow> GpuTotals::Rows(FunctionTable& functions, bool modules) const {
  std::unordered_map<uint32_t, GpuFunctionRow> rows;
  std::vector<uint32_t> path;
  for (const auto& [stack, work] : stacks_) {
    functions.PathOf(stack, path);
    std::erase_if(path, [&](uint32_t id) { return modules && functions.function(id).kind != FrameKind::kModule; });
    if (path.empty()) {
      continue;
    }
    rows[path.back()].self = rows[path.back()].self + work.time;
    std::sort(path.begin(), path.end());
    path.erase(std::unique(path.begin(), path.end()), path.end());
    for (const uint32_t function : path) {
      GpuFunctionRow& row = rows[function];
      row.function = function;
      row.total = row.total + work.time;
      row.count += work.count;
    }
  }
  std::vector<GpuFunctionRow> sorted;
  for (const auto& [function, row] : rows) {
    sorted.push_back(row);
  }
  const auto key = [&](const GpuFunctionRow& row) {
    const Function& function = functions.function(row.function);
    return std::tuple(-row.self.value, -row.total.value, function.name, function.file);
  };
  std::sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return sorted;
}

std::vector<GpuDeviceRow> GpuTotals::Devices() {
  std::vector<GpuDeviceRow> rows;
  for (auto& [key, idle] : devices_) {
    if (const GpuTime time = idle.Result(); time.all.value > 0) {
      rows.push_back({key, time});
    }
  }
  // Rows with equal labels get the rest of their names, to distinguish them.
  const auto label = [](const GpuDeviceRow& row) { return row.label.substr(0, row.label.find('\n')); };
  const std::vector<GpuDeviceRow> all = rows;
  for (GpuDeviceRow& row : rows) {
    const auto same = std::ranges::count(all, label(row), label);
    const size_t more = row.label.find('\n');
    row.label = same == 1 || more == std::string::npos ? label(row) : row.label.replace(more, 1, ", ");
  }
  return rows;
}

}  // namespace ptrace_prof

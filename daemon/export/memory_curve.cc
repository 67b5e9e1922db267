#include "daemon/export/memory_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace ptrace_prof {
namespace {

constexpr std::string_view kCategoryNames[kMemoryCategories] = {
    "parameter", "optimizer state", "input", "temporary", "activation", "gradient", "autograd detail", "unknown"};

}  // namespace

int64_t MemoryPoint::total() const { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); }

TorchDevice MainDeviceOf(const MemoryLedger& ledger) {
  std::map<std::pair<uint8_t, int8_t>, int64_t> bytes;
  for (const MemoryBlock& block : ledger.blocks()) {
    if (!block.device.is_cpu()) {
      bytes[{block.device.type, block.device.index}] += block.bytes;
    }
  }
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; });
  return most == bytes.end() ? TorchDevice{} : TorchDevice{most->first.first, most->first.second};
}

std::vector<MemoryEvent> MemoryEventsOf(const MemoryLedger& ledger, TorchDevice device) {
  std::vector<MemoryEvent> events;
  for (const MemoryBlock& block : ledger.blocks()) {
    // The index of the CPU is -1 or 0.
    if (block.device.type != device.type || (!device.is_cpu() && block.device != device)) {
      continue;
    }
    events.push_back({block.begin, block.was_there ? MemoryAction::kPreexisting : MemoryAction::kCreate, block.bytes,
                      block.category});
    if (block.is_freed) {
      events.push_back({block.end, MemoryAction::kDestroy, -block.bytes, block.category});
    }
  }
  std::ranges::stable_sort(events, [](const MemoryEvent& a, const MemoryEvent& b) {
    const bool a_later = a.action != MemoryAction::kPreexisting;
    const bool b_later = b.action != MemoryAction::kPreexisting;
    return std::pair(a_later, a.when) < std::pair(b_later, b.when);
  });
  return events;
}

std::vector<MemoryPoint> MemoryCurveOf(const std::vector<MemoryEvent>& events) {
  std::vector<MemoryPoint> points;
  for (const MemoryEvent& event : events) {
    if (points.empty() || points.back().when != event.when) {
      points.push_back({event.when, points.empty() ? MemoryByCategory{} : points.back().bytes});
    }
    points.back().bytes[static_cast<size_t>(event.category)] += event.bytes;
  }
  return points;
}

std::string_view NameOf(MemoryCategory category) { return kCategoryNames[static_cast<size_t>(category)]; }

std::string DeviceName(TorchDevice device) {
  constexpr std::string_view kTypes[] = {"cpu", "cuda"};
  const std::string type =
      device.type < std::size(kTypes) ? std::string(kTypes[device.type]) : fmt::format("device type {}", device.type);
  return device.is_cpu() ? type : fmt::format("{}:{}", type, device.index);
}

}  // namespace ptrace_prof

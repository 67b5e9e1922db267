// How much memory of one device is allocated, by category, over time: from the blocks of a MemoryLedger.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/types.h"
#include "daemon/export/memory_ledger.h"

namespace ptrace_prof {

// With the numbers that torch.profiler's raw memory timeline has for them.
enum class MemoryAction : uint8_t { kPreexisting = 1, kCreate = 2, kDestroy = 4 };

struct MemoryEvent {
  Nanos when;
  MemoryAction action = MemoryAction::kCreate;
  int64_t bytes = 0;  // < 0: freed
  MemoryCategory category = MemoryCategory::kUnknown;
};

using MemoryByCategory = std::array<int64_t, kMemoryCategories>;

struct MemoryPoint {
  Nanos when;
  MemoryByCategory bytes{};  // from then on

  int64_t total() const;
};

// The device with the most memory that is not the CPU; the CPU if there is none.
TorchDevice MainDeviceOf(const MemoryLedger& ledger);
// In order of time. Blocks that were there before come first.
std::vector<MemoryEvent> MemoryEventsOf(const MemoryLedger& ledger, TorchDevice device);
// One point for each time at which something changed.
std::vector<MemoryPoint> MemoryCurveOf(const std::vector<MemoryEvent>& events);

std::string_view NameOf(MemoryCategory category);  // "activation"
std::string DeviceName(TorchDevice device);        // "cuda:0"

}  // namespace ptrace_prof

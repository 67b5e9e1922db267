// Numbers over time in a trace: how busy a GPU was, its power, its used memory.
//
// A counter is described once. Then it has values in order of time, each valid until the next. Plain data, used by
// TraceWriter and TraceReader.
#pragma once

#include <cstdint>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

using CounterId = StrongId<struct CounterIdTag, uint32_t>;

enum class CounterUnit : uint8_t {
  kNone,
  kPercent,
  kMegahertz,
  kBytes,
  kMilliwatts,
  kCelsius,
};
inline constexpr size_t kCounterUnitCount = 6;

struct CounterInfo {
  std::string group;  // what it is about: "GPU 0 (NVIDIA H100 PCIe)"
  std::string name;   // "SM clock"
  CounterUnit unit = CounterUnit::kNone;
  int64_t most = 0;  // its highest possible value, such as the total memory; 0 = not known

  bool operator==(const CounterInfo&) const = default;
};

}  // namespace ptrace_prof

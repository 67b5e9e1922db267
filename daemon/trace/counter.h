// What a trace says as numbers over time: how busy a GPU was, what it drew, how much of its memory was taken.
//
// A counter is described once and then has values, in order of time; each holds until the next. Pure data, the same
// for TraceWriter and TraceReader.
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
  int64_t most = 0;  // that its value can be: all memory that there is; 0 = not known

  bool operator==(const CounterInfo&) const = default;
};

}  // namespace ptrace_prof

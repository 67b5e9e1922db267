#include "daemon/collector/gpu/gpu_calls.h"

#include <array>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxNumber = 2048;

struct Index {
  std::array<const GpuCallRow*, kGpuApis * kMaxNumber> rows{};
  Index() {
    for (const GpuCallRow& row : GpuCallRows()) {
      rows[static_cast<size_t>(row.api) * kMaxNumber + row.number] = &row;
    }
  }
};

}  // namespace

const GpuCallRow* FindGpuCall(GpuApi api, uint32_t number) {
  static const Index index;
  return number < kMaxNumber ? index.rows[static_cast<size_t>(api) * kMaxNumber + number] : nullptr;
}

bool StartsGpuWork(GpuCallKind kind) {
  return kind == GpuCallKind::kKernel || kind == GpuCallKind::kGraph || kind == GpuCallKind::kCopy ||
         kind == GpuCallKind::kSet;
}

}  // namespace ptrace_prof

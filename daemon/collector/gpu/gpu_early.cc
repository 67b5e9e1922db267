#include "daemon/collector/gpu/gpu_early.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ptrace_prof {
namespace {

constexpr uint64_t kPartBits = 3;

size_t ColumnOf(uint64_t value) {
  if (value < uint64_t{1} << kPartBits) {
    return value;
  }
  const auto power = static_cast<uint64_t>(std::bit_width(value)) - 1 - kPartBits;
  return (power + 1) << kPartBits | (value >> power & ((uint64_t{1} << kPartBits) - 1));
}

// The highest value in the bucket.
uint64_t EndOf(size_t column) {
  const uint64_t power = column >> kPartBits;
  if (power == 0) {
    return column;
  }
  const uint64_t part = column & ((uint64_t{1} << kPartBits) - 1);
  return (((uint64_t{1} << kPartBits) + part + 1) << (power - 1)) - 1;
}

}  // namespace

void GpuEarly::Add(Nanos early) {
  ++count_;
  most_ = std::max(most_, early);
  ++columns_[std::min(ColumnOf(static_cast<uint64_t>(early.value)), columns_.size() - 1)];
}

Nanos GpuEarly::Quantile(double share) const {
  const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count_)));
  uint64_t passed = 0;
  for (size_t column = 0; column < columns_.size(); ++column) {
    passed += columns_[column];
    if (passed >= wanted && passed > 0) {
      return std::min(Nanos(static_cast<int64_t>(EndOf(column))), most_);
    }
  }
  return most_;
}

}  // namespace ptrace_prof

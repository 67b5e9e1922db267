// Statistics of kernels that seem to begin before their launch, because CUPTI's conversion of the GPU's clock is an
// estimate.
//
// A histogram with buckets as wide as an eighth of their lower end: quantiles have that precision, the maximum is
// exact. Fixed size. One per target; one thread.
#pragma once

#include <array>
#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

class GpuEarly {
 public:
  void Add(Nanos early);  // > 0
  uint64_t count() const { return count_; }
  Nanos most() const { return most_; }
  // The value that `share` (0..1) of the cases do not exceed; 0 if there is none.
  Nanos Quantile(double share) const;

 private:
  static constexpr int kParts = 8;  // buckets per power of two

  std::array<uint64_t, size_t{64} * kParts> columns_{};
  uint64_t count_ = 0;
  Nanos most_;
};

}  // namespace ptrace_prof

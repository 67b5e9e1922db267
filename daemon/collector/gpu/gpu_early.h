// By how much kernels seem to have begun before they were launched: what CUPTI makes of a GPU's clock is an estimate.
//
// A histogram whose columns are an eighth of their beginning wide: quantiles are right to that, the most is exact. A
// fixed size. One per target; one thread.
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
  // So much at most, in that share (0..1) of the cases; 0: there is none.
  Nanos Quantile(double share) const;

 private:
  static constexpr int kParts = 8;  // columns for each power of two

  std::array<uint64_t, size_t{64} * kParts> columns_{};
  uint64_t count_ = 0;
  Nanos most_;
};

}  // namespace ptrace_prof

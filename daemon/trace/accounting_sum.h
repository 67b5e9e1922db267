// The totals of several captures, or of a capture's processes, as one: each counter as `together` in its row says.
// What cannot be told of all together (medians, a cost that differs) is 0, which is "not known"; what is no counter
// stays that of `a`, or is told where the function is. Pure functions.
#pragma once

#include "daemon/trace/gpu.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

// The rate is the mean; marks are added up and what was left out is listed together, up to a bound.
Accounting SumOf(const Accounting& a, const Accounting& b);
GpuAccounting SumOf(const GpuAccounting& a, const GpuAccounting& b);

}  // namespace ptrace_prof

// The totals of several captures, or of a capture's processes, as one: each counter as `together` in its row says.
// A value that does not add up (a median, a cost that differs) becomes 0, which means "not known". A member that is no
// counter keeps the value of `a`, unless the function says otherwise. Pure functions.
#pragma once

#include "daemon/trace/gpu.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

// The rate is the mean; marks are added up and what was left out is listed together, up to a bound.
Accounting SumOf(const Accounting& a, const Accounting& b);
GpuAccounting SumOf(const GpuAccounting& a, const GpuAccounting& b);

}  // namespace ptrace_prof

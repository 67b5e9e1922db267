// Adds up the totals of several captures, or of a capture's processes. Each counter is combined as `together` in its
// row says. A value that cannot be combined (a median, a cost that differs) becomes 0, which means "not known". Other
// members keep the value of `a`, except as documented below. Pure functions.
#pragma once

#include "daemon/trace/gpu.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

// The rate becomes the mean. Marks are added up, and the lists of what was left out are joined, up to a limit.
Accounting SumOf(const Accounting& a, const Accounting& b);
GpuAccounting SumOf(const GpuAccounting& a, const GpuAccounting& b);

}  // namespace ptrace_prof

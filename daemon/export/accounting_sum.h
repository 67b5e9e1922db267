// The totals of captures whose traces lie one after the other in a file, as one: counts and times are added up, the
// longest is the longest of all, and a rate is the mean. What cannot be told of all together (medians, a cost that
// differs) is 0, which is "not known". Pure function.
#pragma once

#include "daemon/trace/model.h"

namespace ptrace_prof {

Accounting SumOf(const Accounting& a, const Accounting& b);

}  // namespace ptrace_prof

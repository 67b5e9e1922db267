// The numbers of a recording as sentences: the live line and the closing lines. Pure functions.
#pragma once

#include <string>

#include "attach/base/types.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

std::string Grouped(uint64_t number);  // "6,150"
// "0.1 %"; 100 % only when it is all of them, 0 % only when it is none.
std::string Percent(uint64_t part, uint64_t whole);

// "  12 s  6,150 samples  499 Hz  truncated 0.1 %  late 3  lost 0  overhead 0.4 %"
std::string LiveLine(const Accounting& totals, Nanos elapsed);
// Several lines, without a newline at the end: samples, verified, stopped, truncated, late, lost, overhead.
std::string ClosingLines(const Accounting& totals);

}  // namespace ptrace_prof

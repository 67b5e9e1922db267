// The numbers of a recording as sentences: the progress line and the closing lines. Pure functions.
#pragma once

#include <string>

#include "attach/base/types.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/model.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

std::string Grouped(uint64_t number);  // "6,150"
// "0.1 %"; 100 % only if it is all of them, 0 % only if it is none.
std::string Percent(uint64_t part, uint64_t whole);

// The counts of each mode as a line.
//
// "  12 s  6,150 samples  499 Hz  truncated 0.1 %  late 3  lost 0  overhead 0.4 %"
// "  12 s  6,150 calls and returns  lost 0  overhead 0.4 %" (MODE_TRACE)
// "  12/30 s  6,150 samples  …  overhead 0.4 %  [########            ]" with the expected duration `whole`; 0: unknown.
std::string LiveLine(v1::Mode mode, const Accounting& totals, Nanos elapsed, Nanos whole = {});
// Several lines, without a newline at the end: samples, their marks, late, missed, lost, overhead, stops; or calls and
// returns, the missing ones, overhead.
std::string ClosingLines(v1::Mode mode, const Accounting& totals);
// For the GPU of one process: what was recorded, how much has a Python stack, what is inconsistent; or why there are no
// records.
std::string GpuClosingLines(const GpuAccounting& totals);

}  // namespace ptrace_prof

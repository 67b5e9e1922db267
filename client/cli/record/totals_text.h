// The numbers of a recording as sentences: the live line and the closing lines. Pure functions.
#pragma once

#include <string>

#include "attach/base/types.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/model.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

std::string Grouped(uint64_t number);  // "6,150"
// "0.1 %"; 100 % only when it is all of them, 0 % only when it is none.
std::string Percent(uint64_t part, uint64_t whole);

// What each mode counts, as a sentence.
//
// "  12 s  6,150 samples  499 Hz  truncated 0.1 %  late 3  lost 0  overhead 0.4 %"
// "  12 s  6,150 calls and returns  lost 0  overhead 0.4 %" (kTrace)
// "  12/30 s  6,150 samples  …  overhead 0.4 %  [########            ]": where it is known how long it will take;
// `whole` 0: it is not.
std::string LiveLine(v1::Mode mode, const Accounting& totals, Nanos elapsed, Nanos whole = {});
// Several lines, without a newline at the end: samples, their marks, late, missed, lost, overhead, stops; or calls
// and returns, what of them is missing, overhead.
std::string ClosingLines(v1::Mode mode, const Accounting& totals);
// Of the GPU of one process: what was seen, what of it has a Python stack, what does not add up; or why there is none.
std::string GpuClosingLines(const GpuAccounting& totals);

}  // namespace ptrace_prof

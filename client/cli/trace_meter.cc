#include "client/cli/trace_meter.h"

#include <algorithm>

namespace ptrace_prof {

Accounting TraceMeter::Totals() const {
  Accounting totals = accounting_.value_or(Accounting{});
  totals.samples = std::max(totals.samples, samples_);
  totals.processes = std::max(totals.processes, processes_);
  return totals;
}

}  // namespace ptrace_prof

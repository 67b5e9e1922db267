// Exact calls by function: number, self time and total time; as measured, and corrected for the tracer's cost.
//
// Every stretch of a call has two events. On average half of each event's cost falls into the call, and half into its
// caller. So the correction of a call path's self time is the cost of one event for each of its stretches, and of one
// for each stretch that it called. A recursive function's total counts each moment once. Pure functions.
#pragma once

#include <span>
#include <vector>

#include "daemon/export/function_table.h"
#include "daemon/export/stack_totals.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

struct CallRow {
  uint32_t function = 0;
  uint64_t calls = 0;
  Nanos self;
  Nanos total;
  Nanos raw_self;
  Nanos raw_total;
};

// The cost of one event; zero if it was not measured.
struct EventCost {
  double python_ns = 0;
  double c_ns = 0;

  static EventCost Of(const Accounting* accounting) {
    return accounting == nullptr ? EventCost() : EventCost{accounting->event_cost_ns, accounting->c_event_cost_ns};
  }
  bool is_known() const { return python_ns > 0; }
};

// The corrected self time of each total, at least zero. `totals` as returned by StackTotals::Sorted.
std::vector<Nanos> CorrectedTimes(std::span<const StackTotal> totals, const StackTable& stacks, EventCost cost);

// Sorted by self time, highest first. `times`: one for each total.
std::vector<CallRow> CallRows(std::span<const StackTotal> totals, std::span<const Nanos> times,
                              FunctionTable& functions);

}  // namespace ptrace_prof

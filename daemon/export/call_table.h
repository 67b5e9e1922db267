// Exact calls by function: how often, and how long in itself and with everything it called; as measured, and with the
// tracer's own cost taken off.
//
// Every stretch of a call has two events; on average half of each event's cost falls into the call and half into its
// caller. So what is taken off a call path's own time is one event for each of its stretches and one for each stretch
// that it called. A recursive function's total counts a moment once. Pure functions over totals.
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

// What an event costs; zero where it was not measured.
struct EventCost {
  double python_ns = 0;
  double c_ns = 0;

  static EventCost Of(const Accounting* accounting) {
    return accounting == nullptr ? EventCost() : EventCost{accounting->event_cost_ns, accounting->c_event_cost_ns};
  }
  bool is_known() const { return python_ns > 0; }
};

// The time of each total in itself, cost taken off; never below zero. `totals` as StackTotals::Sorted gives them.
std::vector<Nanos> CorrectedTimes(std::span<const StackTotal> totals, const StackTable& stacks, EventCost cost);

// The most self time first. `times`: of each total.
std::vector<CallRow> CallRows(std::span<const StackTotal> totals, std::span<const Nanos> times,
                              FunctionTable& functions);

}  // namespace ptrace_prof

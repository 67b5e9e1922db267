// A summary of a registry's captures, as far as the asking caller may see them. Plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "attach/base/types.h"
#include "daemon/server/captures/capture_facts.h"

namespace ptrace_prof {

struct CaptureUsage {
  std::array<uint64_t, kCaptureStates> by_state{};
  uint64_t trace_bytes = 0;
  size_t users = 0;  // with at least one capture
  size_t brief = 0;  // running dumps, listings and live views
  // Of all users' running captures, with dumps and live views:
  double cpu_cores = 0;              // their shares of the budget (cpu_budget.h)
  Nanos cpu_time;                    // used by their collectors, as last reported
  std::optional<double> cpu_budget;  // set by the caller that knows the policy
};

}  // namespace ptrace_prof

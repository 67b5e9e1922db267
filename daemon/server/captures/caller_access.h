// The three things with which captures are made for one caller: what starts collectors, what the caller is allowed, and
// what records its requests. Plain references; the services of the caller own what they refer to, and outlive its
// calls.
#pragma once

#include "daemon/server/captures/caller_allowance.h"
#include "daemon/server/captures/collector.h"
#include "daemon/server/captures/request_audit.h"

namespace ptrace_prof {

struct CallerAccess {
  CollectorStarter& starter;
  const CallerAllowance& allowance;
  RequestAudit& audit;
};

}  // namespace ptrace_prof

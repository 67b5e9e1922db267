// Divides the CPU time that all collectors of a machine may use together. Pure functions.
//
// A sampling capture counts with its limit (max_overhead): its collector keeps to the limit by sampling less often, so
// the sum is exceeded only briefly at the start. A tracing capture must keep up with its target, so it counts with a
// fixed share, or with its measured use if that is larger. In mode auto a capture counts as tracing, and is limited to
// that share if it turns out to sample.
// A capture that asks for much gets half of what is left, so that something remains for later ones, but never less than
// an ordinary capture needs. Dumps, listings and other brief captures count nothing.
#pragma once

#include <optional>
#include <string>

#include "daemon/server/captures/capture_facts.h"

namespace ptrace_prof {

struct CpuGrant {
  double cores = 0;      // its share of the budget
  bool is_less = false;  // less than requested
};

// The share of the budget that a running capture uses.
double CpuTaken(const CaptureParameters& parameters, const CaptureSnapshot& now);
// Nothing: `left` is not enough.
std::optional<CpuGrant> GrantCpu(const CaptureTask& request, double left);
// Changes the request so that the collector keeps to the grant, as far as it can.
void NarrowTo(const CpuGrant& grant, CaptureTask& request);

// Messages: for a narrowed capture, and for a capture that is refused.
std::string NarrowedNotice(const CpuGrant& grant);
Error NoCpuLeft(const CaptureTask& request, double budget, double taken);

}  // namespace ptrace_prof

// What a new capture gets of the CPU time that all collectors of a machine may use together. Pure functions.
//
// A capture that samples is counted with what it may use (max_overhead), which its collector keeps by taking samples
// less often; so what is promised to all of them is not exceeded but for a moment at their start. One that traces calls
// must keep up with the target: it is counted with a fixed share, or with what its collector does use where that is
// more. Where that is left open, it is counted as one that traces, and narrowed to that should it come to samples. Who
// asks for much gets half of what is left, so that there is something for those who come later; nobody gets less than
// an ordinary capture needs. Dumps, listings and what else is brief count nothing.
#pragma once

#include <optional>
#include <string>

#include "daemon/server/captures/capture_facts.h"

namespace ptrace_prof {

struct CpuGrant {
  double cores = 0;      // to be counted with
  bool is_less = false;  // than what was asked for
};

// What a capture that goes on takes of the budget.
double CpuTaken(const CaptureParameters& parameters, const CaptureSnapshot& now);
// Nothing: `left` is not enough for it.
std::optional<CpuGrant> GrantCpu(const CaptureTask& request, double left);
// So that the collector keeps to it, where it can.
void NarrowTo(const CpuGrant& grant, CaptureTask& request);

// Sentences for people: what a narrowed capture is told, and one that finds no room.
std::string NarrowedNotice(const CpuGrant& grant);
Error NoCpuLeft(const CaptureTask& request, double budget, double taken);

}  // namespace ptrace_prof

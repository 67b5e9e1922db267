#include "daemon/server/captures/cpu_budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr double kUsual = 0.01;      // of a core: a sampling capture's default
constexpr double kTracing = 0.1;     // of a core: a tracing capture's, until more use is measured
constexpr double kMost = 1;          // a collector has one busy thread
constexpr double kFastest = 20'000;  // Hz, in place of "as fast as possible", which no limit slows down
constexpr double kRounding = 1e-9;
constexpr Nanos kKnownAfter = Nanos::FromSeconds(2);  // the start costs more than what follows

bool IsBrief(const CaptureTask& request) { return request.verb() != CaptureTask::RECORD; }

double Least(const CaptureTask& request) {
  const bool asks_for_less =
      OverheadLimitOf(request.spec().sample()) > 0 && OverheadLimitOf(request.spec().sample()) < kUsual;
  return MayTrace(request.spec().mode()) ? kTracing : asks_for_less ? OverheadLimitOf(request.spec().sample()) : kUsual;
}

}  // namespace

double CpuTaken(const CaptureParameters& parameters, const CaptureSnapshot& now) {
  const Accounting& totals = now.totals;
  const bool samples = !MayTrace(parameters.request.spec().mode()) || now.mode == v1::MODE_SAMPLE;
  const bool is_known = !samples && totals.wall > kKnownAfter;
  const double used = is_known ? now.cpu.seconds() / totals.wall.seconds() : 0;
  return std::max(parameters.cpu_cores, std::min(used, kMost));  // a collector can report anything
}

std::optional<CpuGrant> GrantCpu(const CaptureTask& request, double left) {
  if (IsBrief(request)) {
    return CpuGrant{};
  }
  if (Least(request) > left + kRounding) {
    return std::nullopt;
  }
  if (request.spec().mode() == v1::MODE_TRACE) {
    return CpuGrant{kTracing};
  }
  const bool is_open = request.spec().mode() == v1::MODE_AUTO;
  const double most = is_open ? kTracing : std::max(Least(request), left / 2);
  const bool is_less = OverheadLimitOf(request.spec().sample()) <= 0 ||
                       OverheadLimitOf(request.spec().sample()) > most || RateOf(request.spec().sample()) <= 0;
  const double wanted = OverheadLimitOf(request.spec().sample()) > 0 ? OverheadLimitOf(request.spec().sample()) : most;
  return CpuGrant{is_open ? most : std::min(wanted, most), is_less};
}

void NarrowTo(const CpuGrant& grant, CaptureTask& request) {
  if (!grant.is_less) {
    return;
  }
  v1::SampleOptions& sample = *request.mutable_spec()->mutable_sample();
  const double asked = OverheadLimitOf(sample);
  sample.set_max_overhead(asked > 0 ? std::min(asked, grant.cores) : grant.cores);
  sample.clear_no_overhead_limit();
  if (sample.as_fast_as_possible()) {
    sample.set_rate_hz(kFastest);
    sample.clear_as_fast_as_possible();
  }
}

std::string NarrowedNotice(const CpuGrant& grant) {
  return fmt::format(
      "the collector of this capture may use {:.3g} % of a core, less than requested: the policy of this machine "
      "limits the CPU time of all collectors together. If that is not enough, samples are taken less often",
      100 * grant.cores);
}

Error NoCpuLeft(const CaptureTask& request, double budget, double taken) {
  return Because(
      Reason::kQuota,
      fmt::format("the policy of this machine limits all collectors together to {:.3g} cores, and running captures use "
                  "{:.3g}: too little is left for the {:.3g} that {} needs",
                  budget, taken, Least(request), MayTrace(request.spec().mode()) ? "tracing calls" : "taking samples"),
      "try again when another capture has ended (ptrace-prof captures list shows yours), or work without the daemon: "
      "--host none");
}

}  // namespace ptrace_prof

#include "daemon/session/cpu_budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr double kUsual = 0.01;      // what a capture may use unless it says otherwise
constexpr double kTracing = 0.1;     // of one that traces calls, until it is seen to use more
constexpr double kMost = 1;          // a collector has one thread that matters
constexpr double kFastest = 20'000;  // instead of as fast as possible, which no limit slows down
constexpr double kRounding = 1e-9;
constexpr Nanos kKnownAfter = Nanos::FromSeconds(2);  // the start costs more than what comes after

bool IsBrief(const CaptureRequest& request) { return request.verb != CaptureVerb::kRecord; }

bool MayTrace(const CaptureRequest& request) { return request.mode != CaptureMode::kSample; }

double Least(const CaptureRequest& request) {
  const bool asks_for_less = request.max_overhead > 0 && request.max_overhead < kUsual;
  return MayTrace(request) ? kTracing : asks_for_less ? request.max_overhead : kUsual;
}

}  // namespace

double CpuTaken(const CaptureParameters& parameters, const CaptureSnapshot& now) {
  const Accounting& totals = now.totals;
  const bool samples = !MayTrace(parameters.request) || now.mode == CaptureMode::kSample;
  const bool is_known = !samples && totals.wall > kKnownAfter;
  const double used = is_known ? now.cpu.seconds() / totals.wall.seconds() : 0;
  return std::max(parameters.cpu_cores, std::min(used, kMost));  // what it says of itself may be anything
}

std::optional<CpuGrant> GrantCpu(const CaptureRequest& request, double left) {
  if (IsBrief(request)) {
    return CpuGrant{};
  }
  if (Least(request) > left + kRounding) {
    return std::nullopt;
  }
  if (request.mode == CaptureMode::kTrace) {
    return CpuGrant{kTracing};
  }
  const bool is_open = request.mode == CaptureMode::kAuto;
  const double most = is_open ? kTracing : std::max(Least(request), left / 2);
  const bool is_less = request.max_overhead <= 0 || request.max_overhead > most || request.rate_hz <= 0;
  const double wanted = request.max_overhead > 0 ? request.max_overhead : most;
  return CpuGrant{is_open ? most : std::min(wanted, most), is_less};
}

void NarrowTo(const CpuGrant& grant, CaptureRequest& request) {
  if (!grant.is_less) {
    return;
  }
  request.max_overhead = request.max_overhead > 0 ? std::min(request.max_overhead, grant.cores) : grant.cores;
  request.rate_hz = request.rate_hz > 0 ? request.rate_hz : kFastest;
}

std::string NarrowedNotice(const CpuGrant& grant) {
  return fmt::format(
      "the collector of this capture may use {:.3g} % of a core, less than was asked for: the policy of this machine "
      "limits what all collectors use together. Where that is not enough, samples are taken less often",
      100 * grant.cores);
}

Error NoCpuLeft(const CaptureRequest& request, double budget, double taken) {
  return Because(
      Reason::kQuota,
      fmt::format("the policy of this machine lets all collectors together use {:.3g} cores, of which the captures "
                  "that go on have {:.3g}: less is left than the {:.3g} that {} needs",
                  budget, taken, Least(request), MayTrace(request) ? "tracing calls" : "taking samples"),
      "try again when another capture has ended (ptrace-prof captures list shows yours), or do without the "
      "daemon: --host none");
}

}  // namespace ptrace_prof

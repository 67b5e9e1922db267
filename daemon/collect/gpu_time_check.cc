#include "daemon/collect/gpu_time_check.h"

#include <fmt/format.h>

#include <utility>

namespace ptrace_prof {
namespace {

constexpr uint64_t kFewBadTimes = 100;  // in such a time; what had not ended has none either

}  // namespace

std::optional<Error> GpuTimeCheck::Look(Pid pid, const GpuAccounting& accounting) {
  const uint64_t bad = accounting.invalid + accounting.invalid_records;
  const uint64_t good = accounting.kernels + accounting.copies + accounting.memsets;
  const uint64_t more_bad = bad - std::exchange(bad_, bad);
  const uint64_t more_good = good - std::exchange(good_, good);
  if (more_bad < kFewBadTimes || more_bad < more_good) {
    return std::nullopt;
  }
  return Because(Reason::kCuptiBlocked,
                 fmt::format("CUPTI of process {} gives times that mean nothing ({} of the last {} records), so "
                             "recording ended",
                             pid.value, more_bad, more_bad + more_good),
                 "Record for a shorter time, or --gpu-detail coarse: CUPTI may have used up what it keeps for times.",
                 ThingOf(pid));
}

}  // namespace ptrace_prof

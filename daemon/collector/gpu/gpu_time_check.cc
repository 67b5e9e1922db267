#include "daemon/collector/gpu/gpu_time_check.h"

#include <fmt/format.h>

#include <utility>

#include "attach/inject/gpu_failure.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kFewBadTimes = 100;  // between two looks; operations that had not ended have no time either
constexpr uint32_t kZeroLooks = 10;     // looks for which a GPU may be without times, if valid ones may follow
constexpr uint32_t kFirstWithZeros = 24;
constexpr uint32_t kFirstWithout = 130100;

}  // namespace

std::string GpuTimeCheck::Begin(Pid pid, const GpuLibrary& library) {
  expects_zeros_ =
      library.record_time == PP_GPU_TIME_OTHER && library.version >= kFirstWithZeros && library.version < kFirstWithout;
  if (!expects_zeros_) {
    return "";
  }
  return fmt::format(
      "CUPTI of process {} (of {}) may then report kernels without times at the beginning of a recording and after the "
      "GPU "
      "was idle (a bug that NVIDIA documents for 12.6 update 2 to 13.0, fixed in 13.1): such kernels are left out and "
      "counted",
      pid.value, CuptiRelease(library.version));
}

std::optional<Error> GpuTimeCheck::Look(Pid pid, const GpuAccounting& accounting, uint64_t zeros) {
  const uint64_t bad = accounting.invalid + accounting.invalid_records;
  const uint64_t good = accounting.kernels + accounting.copies + accounting.memsets;
  const uint64_t more_bad = bad - std::exchange(bad_, bad);
  const uint64_t more_good = good - std::exchange(good_, good);
  const uint64_t more_zeros = zeros - std::exchange(zeros_, zeros);
  if (more_bad < kFewBadTimes || more_bad < more_good) {
    zero_looks_ = 0;
    return std::nullopt;
  }
  if (expects_zeros_ && more_zeros > more_bad / 2) {
    if (++zero_looks_ < kZeroLooks) {
      return std::nullopt;
    }
    return Because(Reason::kCuptiBlocked,
                   fmt::format("CUPTI of process {} (of {}) reported kernels without times ({} of the last {} records) "
                               "while it used the clock of another tool, a bug fixed in 13.1, so recording ended",
                               pid.value, CuptiRelease(accounting.cupti_version), more_zeros, more_bad + more_good),
                   "Use CUDA 13.1 or later for the job, or record it before that tool is used in it.", ThingOf(pid));
  }
  return Because(
      Reason::kCuptiBlocked,
      fmt::format("CUPTI of process {} reported invalid times ({} of the last {} records), so recording ended",
                  pid.value, more_bad, more_bad + more_good),
      "Record for a shorter time, or use --gpu-detail coarse: CUPTI may have used up its memory for times.",
      ThingOf(pid));
}

}  // namespace ptrace_prof

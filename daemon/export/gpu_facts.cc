#include "daemon/export/gpu_facts.h"

#include <fmt/format.h>

#include "attach/base/clean_text.h"
#include "daemon/export/counter_cautions.h"
#include "daemon/export/number_text.h"
#include "daemon/trace/accounting_sum.h"

namespace ptrace_prof {
namespace {

GpuAccounting SumOfProcesses(const Recording& recording) {
  GpuAccounting sum;
  for (const auto& [key, accounting] : recording.gpu_accounting) {
    sum = SumOf(sum, accounting);
  }
  return sum;
}

}  // namespace

void AddGpuFacts(const Recording& recording, std::vector<std::pair<std::string, std::string>>& facts) {
  const GpuAccounting sum = SumOfProcesses(recording);
  if (sum.kernels == 0) {
    return;
  }
  facts.emplace_back("kernels", WithCommas(sum.kernels));
  facts.emplace_back("with a Python stack", PercentText(sum.attributed(), sum.kernels));
  for (const auto& [key, accounting] : recording.gpu_accounting) {
    if (accounting.launch_rate > 0) {
      facts.emplace_back("stacks at launches", fmt::format("at most {} per second and thread; graphs: {}",
                                                           accounting.launch_rate, accounting.graph_rate));
      break;  // the same for all processes
    }
  }
  if (sum.uncovered_ns > 0) {
    facts.emplace_back("GPU not recorded for", DurationText(Nanos(static_cast<int64_t>(sum.uncovered_ns))));
  }
}

namespace {

// Reports the process with the worst clock.
void AddEarly(const Recording& recording, std::vector<std::string>& cautions) {
  const GpuAccounting* worst = nullptr;
  for (const auto& [key, accounting] : recording.gpu_accounting) {
    worst = worst == nullptr || accounting.early_most_ns > worst->early_most_ns ? &accounting : worst;
  }
  const auto text = [](uint64_t nanoseconds) { return DurationText(Nanos(static_cast<int64_t>(nanoseconds))); };
  if (worst != nullptr && worst->early_most_ns > 0) {
    cautions.push_back(fmt::format(
        "Some kernels seem to begin before their launch: by {} (median), {} (99th percentile), {} (maximum).",
        text(worst->early_median_ns), text(worst->early_p99_ns), text(worst->early_most_ns)));
  }
}

}  // namespace

void AddGpuCautions(const Recording& recording, std::vector<std::string>& cautions) {
  for (const auto& [key, accounting] : recording.gpu_accounting) {
    if (!accounting.message.empty()) {
      cautions.push_back(CleanText(fmt::format("GPU of process {}: {}{}{}", accounting.pid.value, accounting.message,
                                               accounting.remedy.empty() ? "" : "; ", accounting.remedy)));
    }
  }
  AddCounterCautions(SumOfProcesses(recording), cautions);
  AddEarly(recording, cautions);
}

}  // namespace ptrace_prof

#include "daemon/export/gpu_facts.h"

#include <fmt/format.h>

#include "attach/base/clean_text.h"
#include "daemon/export/number_text.h"

namespace ptrace_prof {
namespace {

uint64_t SumOf(const Recording& recording, uint64_t GpuAccounting::*count) {
  uint64_t sum = 0;
  for (const auto& [key, accounting] : recording.gpu_accounting) {
    sum += accounting.*count;
  }
  return sum;
}

struct Caution {
  uint64_t GpuAccounting::*count;
  std::string_view sentence;
};
constexpr Caution kCautions[] = {
    {&GpuAccounting::dropped, "{} records of GPU work were dropped by the library for want of room: they are missing."},
    {&GpuAccounting::declined_buffers,
     "{} times the library had work of the GPU to write down and nowhere to: what it was is missing."},
    {&GpuAccounting::unknown_records, "{} records of the library were of kinds that are not known, and were left out."},
    {&GpuAccounting::invalid, "{} kernels had times that mean nothing and were left out."},
    {&GpuAccounting::invalid_records,
     "{} records of calls or GPU work other than kernels had times that mean nothing and were left out."},
    {&GpuAccounting::unseen, "{} launches had no kernel that was seen."},
    {&GpuAccounting::replays_unseen, "{} replays of graphs had no operation that was seen."},
    {&GpuAccounting::graphs_before,
     "{} of the graphs that were replayed had been instantiated before the recording: their copies and memsets may be "
     "told of as kernels."},
    {&GpuAccounting::unlinked,
     "{} operations of graphs have no launch and no Python stack, as the library tells wrongly which call replayed a "
     "graph where it had been used before in the process."},
    {&GpuAccounting::without_launch, "{} kernels had no launch that was seen: nobody knows whose they are."},
    {&GpuAccounting::graphs_without_launch, "{} replays of graphs had no launch that was seen."},
    {&GpuAccounting::copies_without_launch, "{} copies had no launch that was seen."},
    {&GpuAccounting::memsets_without_launch, "{} memsets had no launch that was seen."},
    {&GpuAccounting::ambiguous,
     "{} kernels were launched by the autograd engine while several threads waited for it at different places: nobody "
     "knows whose they are."},
    {&GpuAccounting::clock_violations,
     "{} kernels seem to begin before they were launched: their times are not to be "
     "compared with those of threads."},
    {&GpuAccounting::annotations_without_begin,
     "{} ranges of NVTX had begun before they were recorded: their names are not known, and they were left out."},
    {&GpuAccounting::annotations_without_end,
     "{} ranges of NVTX went on when the recording ended: they are cut there."},
    {&GpuAccounting::annotations_lost,
     "{} begins and marks of NVTX were left out: their times or threads mean nothing, their ends may be among records "
     "that were lost, or there were too many at once."},
    {&GpuAccounting::clock_steps, "The clock of the GPU's library was set {} times during the recording."},
};

}  // namespace

void AddGpuFacts(const Recording& recording, std::vector<std::pair<std::string, std::string>>& facts) {
  const uint64_t kernels = SumOf(recording, &GpuAccounting::kernels);
  if (kernels == 0) {
    return;
  }
  facts.emplace_back("kernels", WithCommas(kernels));
  uint64_t attributed = 0;
  for (const auto& [key, accounting] : recording.gpu_accounting) {
    attributed += accounting.attributed();
  }
  facts.emplace_back("with a Python stack", PercentText(attributed, kernels));
  for (const auto& [key, accounting] : recording.gpu_accounting) {
    if (accounting.launch_rate > 0) {
      facts.emplace_back("stacks at launches", fmt::format("at most {} a second and thread, of graphs {}",
                                                           accounting.launch_rate, accounting.graph_rate));
      break;  // it is the same of all
    }
  }
  if (const uint64_t uncovered = SumOf(recording, &GpuAccounting::uncovered_ns); uncovered > 0) {
    facts.emplace_back("GPU not recorded for", DurationText(Nanos(static_cast<int64_t>(uncovered))));
  }
}

namespace {

// Of whichever process has the worst clock.
void AddEarly(const Recording& recording, std::vector<std::string>& cautions) {
  const GpuAccounting* worst = nullptr;
  for (const auto& [key, accounting] : recording.gpu_accounting) {
    worst = worst == nullptr || accounting.early_most_ns > worst->early_most_ns ? &accounting : worst;
  }
  const auto text = [](uint64_t nanoseconds) { return DurationText(Nanos(static_cast<int64_t>(nanoseconds))); };
  if (worst != nullptr && worst->early_most_ns > 0) {
    cautions.push_back(
        fmt::format("Kernels seem to begin before they were launched by {} at the median, {} in 99 % of "
                    "these cases, {} at most.",
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
  for (const Caution& caution : kCautions) {
    if (const uint64_t count = SumOf(recording, caution.count); count > 0) {
      cautions.push_back(fmt::format(fmt::runtime(caution.sentence), WithCommas(count)));
    }
  }
  AddEarly(recording, cautions);
}

}  // namespace ptrace_prof

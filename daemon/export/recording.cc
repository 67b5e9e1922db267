#include "daemon/export/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "attach/base/clean_text.h"
#include "daemon/export/counter_cautions.h"
#include "daemon/export/gpu_facts.h"
#include "daemon/export/number_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxCommandLine = 400;  // bytes; the header of a page must stay short

constexpr std::string_view kQualityNames[kSampleQualityCount] = {"",           "stopped", "truncated", "too deep",
                                                                 "unverified", "torn",    "names gone"};

void AddProcesses(const Recording& recording, std::vector<std::pair<std::string, std::string>>& facts) {
  if (recording.processes.empty()) {
    return;
  }
  const ProcessInfo& process = recording.processes.begin()->second;
  if (recording.started.size() <= 1) {
    facts.emplace_back("pid", process.ns_pid == process.pid || process.ns_pid.value == 0
                                  ? std::to_string(process.pid.value)
                                  : fmt::format("{} ({} in its container)", process.pid.value, process.ns_pid.value));
  } else {
    facts.emplace_back("processes", std::to_string(recording.started.size()));
  }
  std::set<std::string> versions;
  for (const auto& [pid, info] : recording.processes) {
    versions.insert(CleanText(info.python));
  }
  versions.erase("");
  if (!versions.empty()) {
    facts.emplace_back("Python", fmt::format("{}", fmt::join(versions, ", ")));
  }
}

// Missing data: first the two sentences that need two counters each.
void AddLosses(const Accounting& totals, std::vector<std::string>& cautions) {
  if (totals.call_events_lost > 0) {
    cautions.push_back(fmt::format("{} events were lost in {} gaps: the calls of these times are missing, shown as {}.",
                                   WithCommas(totals.call_events_lost), WithCommas(totals.call_gaps), kLostMarker));
  }
  if (totals.holds > 0) {
    cautions.push_back(
        fmt::format("Threads were held back {} times for {} in total, so that no events were lost (--on-full "
                    "throttle); shown as {}.",
                    WithCommas(totals.holds), DurationText(totals.held_total), kHeldMarker));
  }
  AddCounterCautions(totals, cautions);
  for (const std::string& sentence : Sentences(totals.left_out)) {
    cautions.push_back(sentence + ".");
  }
}

}  // namespace

std::vector<TrackId> Recording::ThreadsInOrder() const {
  std::vector<TrackId> order;
  for (uint32_t i = 0; i < threads.size(); ++i) {
    if (threads[i].samples > 0) {
      order.emplace_back(i);
    }
  }
  const auto key = [&](TrackId track) {
    const ThreadInfo& info = threads[track.value].info;
    return std::tuple(info.pid, !info.is_main, info.tid, track);
  };
  std::sort(order.begin(), order.end(), [&](TrackId a, TrackId b) { return key(a) < key(b); });
  return order;
}

bool Recording::HasSeveralProcesses() const {
  const RecordedThread* known = nullptr;
  for (const RecordedThread& thread : threads) {
    if (thread.samples > 0 && known == nullptr) {
      known = &thread;
    } else if (thread.samples > 0 && thread.info.pid != known->info.pid) {
      return true;
    }
  }
  return false;
}

std::string CommandLine(const ProcessInfo& process) {
  std::string line;
  for (const std::string& argument : process.cmdline) {
    line += (line.empty() ? "" : " ") + argument;
    if (line.size() > kMaxCommandLine) {
      line = line.substr(0, kMaxCommandLine) + "…";
      break;
    }
  }
  return CleanText(line.empty() ? process.name : line);
}

bool MayHaveOperators(const Recording& recording) {
  if (!recording.request) {
    return false;
  }
  const v1::CaptureSpec& spec = recording.request->spec();
  return WantsTorch(spec) || (MayTrace(spec.mode()) && spec.torch() != v1::TORCH_OFF);
}

bool MayHaveGpu(const Recording& recording) {
  return recording.request.has_value() && HasGpu(recording.request->spec());
}

std::string TitleOf(const Recording& recording, std::string_view wanted) {
  if (!wanted.empty()) {
    return CleanText(wanted);
  }
  const auto& processes = recording.processes;
  const auto asked = recording.request ? processes.find(TargetOf(*recording.request)) : processes.end();
  const auto shown = asked != processes.end() ? asked : processes.begin();
  return shown == processes.end() ? "unknown process" : CommandLine(shown->second);
}

std::string ProcessLabel(const Recording& recording, Pid pid) {
  const auto found = recording.processes.find(pid);
  const std::string name = found == recording.processes.end() ? "" : CleanText(found->second.name);
  return fmt::format("{} (pid {})", name.empty() ? "process" : name, pid.value);
}

std::string ThreadLabel(const RecordedThread& thread) {
  const std::string name = CleanText(thread.info.name);
  return fmt::format("{} (tid {})", name.empty() ? "thread" : name, thread.info.tid.value);
}

std::vector<std::pair<std::string, std::string>> FactsOf(const Recording& recording) {
  std::vector<std::pair<std::string, std::string>> facts;
  const bool merged = recording.captures > 1;
  if (merged) {
    facts.emplace_back("captures", std::to_string(recording.captures));
  }
  AddProcesses(recording, facts);
  facts.emplace_back("threads", std::to_string(recording.ThreadsInOrder().size()));
  facts.emplace_back(recording.exact ? "calls" : "samples",
                     WithCommas(recording.exact ? recording.calls : recording.samples));
  AddGpuFacts(recording, facts);
  const Accounting* totals = recording.accounting ? &*recording.accounting : nullptr;
  const Nanos length = totals != nullptr ? totals->wall : recording.last - recording.first;
  facts.emplace_back(merged ? "total duration" : "duration", DurationText(length));
  if (totals != nullptr && totals->actual_rate_hz > 0) {
    facts.emplace_back(merged ? "mean rate" : "rate", fmt::format("{:.0f} Hz", totals->actual_rate_hz));
  }
  for (size_t i = 0; i < kSampleQualityCount; ++i) {
    if (recording.by_quality[i] > 0 && !kQualityNames[i].empty()) {
      facts.emplace_back(kQualityNames[i], PercentText(recording.by_quality[i], recording.samples));
    }
  }
  for (const auto& [key, value] : recording.metadata) {
    facts.emplace_back("meta " + key, value);
  }
  if (totals == nullptr) {
    return facts;
  }
  for (const auto& counter : kCounters) {
    if (const uint64_t count = counter.CountIn(*totals); count > 0 && !counter.traits.fact.empty()) {
      facts.emplace_back(counter.traits.fact, WithCommas(count));
    }
  }
  if (totals->event_cost_ns > 0) {
    facts.emplace_back("tracer", fmt::format("{:.0f} ns per event, subtracted", totals->event_cost_ns));
  }
  if (totals->wall.value > 0 && !recording.exact) {
    facts.emplace_back(
        merged ? "mean overhead" : "overhead",
        fmt::format("{:.2f} % of one core", 100 * totals->collector_cpu.seconds() / totals->wall.seconds()));
  }
  return facts;
}

std::vector<std::string> CautionsOf(const Recording& recording) {
  std::vector<std::string> cautions;
  if (recording.end && !recording.end->message.empty()) {
    cautions.push_back(CleanText(recording.end->message));
  }
  for (const std::string& notice : recording.notices) {
    cautions.push_back(CleanText(notice));
  }
  AddGpuCautions(recording, cautions);
  if (recording.cut) {
    cautions.push_back("The trace was cut off: its end is missing, and its last second is incomplete.");
  }
  if (recording.skipped > 0) {
    cautions.push_back(fmt::format("{} invalid parts of the trace were left out.", WithCommas(recording.skipped)));
  }
  if (recording.accounting) {
    AddLosses(*recording.accounting, cautions);
  }
  if (recording.costs_differ && recording.exact) {
    cautions.push_back("The cost of tracing differs between the captures, and is not subtracted.");
  }
  if (recording.filtered > 0) {
    cautions.push_back(
        fmt::format("Filters left out {} {}.", WithCommas(recording.filtered), recording.exact ? "calls" : "samples"));
  }
  const uint64_t unverified = recording.by_quality[static_cast<size_t>(SampleQuality::kFormerlyUnverified)];
  const uint64_t torn = recording.by_quality[static_cast<size_t>(SampleQuality::kTorn)];
  if (torn > 0) {
    cautions.push_back(
        fmt::format("{} stacks changed while they were read without a stop (--nonblocking) and are cut there: shares "
                    "of code that makes many calls can be wrong by tens of percent.",
                    WithCommas(torn)));
  }
  if (unverified > 0) {
    cautions.push_back(
        fmt::format("{} samples could not be verified: their stacks may mix two moments.", WithCommas(unverified)));
  }
  return cautions;
}

}  // namespace ptrace_prof

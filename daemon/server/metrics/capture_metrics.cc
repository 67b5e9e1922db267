#include "daemon/server/metrics/capture_metrics.h"

#include <algorithm>
#include <span>
#include <vector>

#include "daemon/server/metrics/process_metrics.h"
#include "daemon/trace/accounting_sum.h"
#include "daemon/trace/counters.h"

namespace ptrace_prof {
namespace {

using Label = std::pair<std::string_view, std::string_view>;

constexpr std::array<std::string_view, kCaptureStates> kStates = {"pending",   "running", "draining",
                                                                  "succeeded", "failed",  "cancelled"};

std::string_view WhatOf(const CaptureParameters& parameters) {
  switch (parameters.request.verb()) {
    case CaptureTask::RECORD: return parameters.id.empty() ? "live" : "record";
    case CaptureTask::DUMP: return "dump";
    case CaptureTask::LIST: return "list";
    case CaptureTask::DOCTOR: return "doctor";
    default: return "";
  }
}

template <size_t kSize>
void Observe(std::span<const double> bounds, double value, std::array<uint64_t, kSize>& counts, double& sum) {
  const auto at = std::lower_bound(bounds.begin(), bounds.end(), value);
  ++counts[static_cast<size_t>(at - bounds.begin())];
  sum += value;
}

void PutPairs(MetricsText& text, const std::map<std::pair<std::string, std::string>, uint64_t>& counts,
              std::string_view first, std::string_view second) {
  for (const auto& [key, count] : counts) {
    const Label labels[] = {{first, key.first}, {second, key.second}};
    text.Sample(static_cast<double>(count), labels);
  }
}

void PutReasons(MetricsText& text, const std::map<std::string, uint64_t>& counts, std::string_view key = "reason") {
  for (const auto& [reason, count] : counts) {
    const Label label{key, reason};
    text.Sample(static_cast<double>(count), {&label, 1});
  }
}

// Counts by kind, in the order of the lists of counters.
using Drops = std::vector<std::pair<std::string_view, uint64_t>>;

template <typename Totals>
void AddDrops(const Totals& totals, Drops& drops) {
  for (const auto& counter : CountersOf(totals)) {
    const std::string_view kind = counter.traits.drop;
    if (!kind.empty() && kind == drops.back().first) {
      drops.back().second += counter.CountIn(totals);
    } else if (!kind.empty()) {
      drops.emplace_back(kind, counter.CountIn(totals));
    }
  }
}

void PutUsage(MetricsText& text, const CaptureUsage& usage) {
  text.Family("ptrace_prof_captures", MetricKind::kGauge, "Captures that the daemon keeps, by state.");
  for (size_t i = 0; i < kStates.size(); ++i) {
    const Label label{"state", kStates[i]};
    text.Sample(static_cast<double>(usage.by_state[i]), {&label, 1});
  }
  text.Family("ptrace_prof_brief_captures", MetricKind::kGauge, "Running dumps, listings and live views.");
  text.Sample(static_cast<double>(usage.brief));
  text.Family("ptrace_prof_spool_bytes", MetricKind::kGauge, "Size of the traces of the captures that are kept.");
  text.Sample(static_cast<double>(usage.trace_bytes));
}

}  // namespace

void CaptureMetrics::Ended(const CaptureParameters& parameters, const CaptureSnapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  ++ended_[{std::string(WhatOf(parameters)), std::string(kStates[static_cast<size_t>(snapshot.state)])}];
  if (snapshot.state == CaptureState::kFailed && snapshot.error.has_value()) {
    ++failures_[std::string(ReasonName(ReasonOf(*snapshot.error)))];
  }
  bytes_ += snapshot.trace_bytes;
  cpu_ = cpu_ + snapshot.cpu;
  if (parameters.request.verb() != CaptureTask::RECORD) {
    return;
  }
  const Accounting& totals = snapshot.totals;
  sum_ = SumOf(sum_, totals);
  sum_.left_out.clear();
  gpu_ = SumOf(gpu_, snapshot.gpu);
  if (snapshot.started.value > 0) {
    const Nanos took = std::max(Nanos(), snapshot.started - snapshot.created);
    Observe(kAttachBounds, took.seconds(), attach_.counts, attach_.sum);
    Observe(kStoppedBounds, totals.stopped_total.seconds(), stopped_.counts, stopped_.sum);
  }
  if (totals.stops > 0) {
    Observe(kStopBounds, totals.stopped_longest.seconds(), longest_stop_.counts, longest_stop_.sum);
  }
}

void CaptureMetrics::Forgotten(const ForgottenCapture& capture) {
  const std::lock_guard lock(mutex_);
  ++forgotten_[std::string(capture.why)];
  forgotten_bytes_ += capture.bytes;
}

void CaptureMetrics::Decided(std::string_view what, std::string_view outcome, Reason reason, size_t times) {
  const std::lock_guard lock(mutex_);
  decisions_[{std::string(what), std::string(outcome)}] += times;
  if (outcome == "refused") {
    denials_[std::string(ReasonName(reason))] += times;
  }
}

void CaptureMetrics::PutCaptures(MetricsText& text) const {
  text.Family("ptrace_prof_captures_total", MetricKind::kCounter, "Captures that have ended, by kind and result.");
  PutPairs(text, ended_, "what", "result");
  text.Family("ptrace_prof_failures_total", MetricKind::kCounter, "Captures that failed, by reason.");
  PutReasons(text, failures_);
  text.Family("ptrace_prof_forgotten_total", MetricKind::kCounter, "Captures deleted because of their age or size.");
  PutReasons(text, forgotten_, "why");
  text.Family("ptrace_prof_forgotten_bytes_total", MetricKind::kCounter, "Size of their traces.");
  text.Sample(static_cast<double>(forgotten_bytes_));
  text.Family("ptrace_prof_decisions_total", MetricKind::kCounter, "Requests of callers by outcome, as in the audit.");
  PutPairs(text, decisions_, "what", "outcome");
  text.Family("ptrace_prof_denials_total", MetricKind::kCounter, "Refused requests, by reason.");
  PutReasons(text, denials_);
}

void CaptureMetrics::PutTraces(MetricsText& text) const {
  Drops drops = {{"samples_truncated", sum_.by_quality[static_cast<size_t>(SampleQuality::kTruncated)]}};
  AddDrops(sum_, drops);
  AddDrops(gpu_, drops);
  text.Family("ptrace_prof_recorded_bytes_total", MetricKind::kCounter, "Bytes of the traces of ended captures.");
  text.Sample(static_cast<double>(bytes_));
  text.Family("ptrace_prof_samples_total", MetricKind::kCounter, "Samples of threads in ended captures.");
  text.Sample(static_cast<double>(sum_.samples));
  text.Family("ptrace_prof_call_events_total", MetricKind::kCounter, "Calls and returns recorded in ended captures.");
  text.Sample(static_cast<double>(sum_.call_events));
  text.Family("ptrace_prof_gpu_kernels_total", MetricKind::kCounter, "GPU kernels seen in ended captures.");
  text.Sample(static_cast<double>(gpu_.kernels));
  text.Family("ptrace_prof_dropped_total", MetricKind::kCounter, "Data missing in ended captures, by kind.");
  for (const auto& [kind, count] : drops) {
    const Label label{"kind", kind};
    text.Sample(static_cast<double>(count), {&label, 1});
  }
}

void CaptureMetrics::PutCpu(MetricsText& text, const CaptureUsage& usage) const {
  shown_cpu_ = std::max(shown_cpu_, cpu_ + usage.cpu_time);
  text.Family("ptrace_prof_collector_cpu_seconds_total", MetricKind::kCounter,
              "CPU time of all collectors; for running ones, as last reported.");
  text.Sample(shown_cpu_.seconds());
  text.Family("ptrace_prof_cpu_granted_cores", MetricKind::kGauge,
              "Cores reserved for the running collectors, if there is a budget.");
  text.Sample(usage.cpu_cores);
  if (usage.cpu_budget.has_value()) {
    text.Family("ptrace_prof_cpu_budget_cores", MetricKind::kGauge, "Cores that all collectors together may use.");
    text.Sample(*usage.cpu_budget);
  }
}

void CaptureMetrics::PutStops(MetricsText& text) const {
  text.Family("ptrace_prof_attach_seconds", MetricKind::kHistogram,
              "From the start of a collector to the first bytes of its trace.");
  text.Histogram({kAttachBounds, attach_.counts, attach_.sum});
  text.Family("ptrace_prof_stops_total", MetricKind::kCounter, "Brief stops of a thread in ended captures.");
  text.Sample(static_cast<double>(sum_.stops));
  text.Family("ptrace_prof_longest_stop_seconds", MetricKind::kHistogram,
              "Longest stop of a thread in each capture that stopped any.");
  text.Histogram({kStopBounds, longest_stop_.counts, longest_stop_.sum});
  text.Family("ptrace_prof_stopped_seconds", MetricKind::kHistogram,
              "Total time for which the threads of a capture were stopped.");
  text.Histogram({kStoppedBounds, stopped_.counts, stopped_.sum});
}

std::string CaptureMetrics::Page(const CaptureUsage& usage) const {
  MetricsText text;
  text.Family("ptrace_prof_build_info", MetricKind::kGauge, "1; the version is in the label.");
  const Label label{"version", PP_VERSION};
  text.Sample(1, {&label, 1});
  PutUsage(text, usage);
  {
    const std::lock_guard lock(mutex_);
    PutCaptures(text);
    PutTraces(text);
    PutCpu(text, usage);
    PutStops(text);
  }
  PutProcess(text);
  return text.text();
}

}  // namespace ptrace_prof

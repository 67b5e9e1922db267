// The daemon's counters: captures that ended, and decisions. Thread-safe. No value names a user, a process or a file,
// since everyone who reaches the address may read it.
//
// Counters cover captures that have ended, and come from the accounting in their traces. Running captures are in
// gauges.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/server/captures/capture_facts.h"
#include "daemon/server/captures/capture_usage.h"
#include "daemon/server/captures/registry_listener.h"
#include "daemon/server/metrics/metrics_text.h"

namespace ptrace_prof {

class CaptureMetrics {
 public:
  // A capture has ended: a listed one, a dump, a listing or a live view.
  void Ended(const CaptureParameters& parameters, const CaptureSnapshot& snapshot);
  // A trace was deleted to make room, or because of its age.
  void Forgotten(const ForgottenCapture& capture);
  // `what` was requested ("record", "connect") with the result `outcome` ("refused"); `reason`: kUnspecified if there
  // is none.
  void Decided(std::string_view what, std::string_view outcome, Reason reason, size_t times = 1);

  // `usage`: of all users.
  std::string Page(const CaptureUsage& usage) const;

 private:
  static constexpr std::array<double, 12> kAttachBounds = {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30};
  static constexpr std::array<double, 11> kStopBounds = {0.000'02, 0.000'05, 0.000'1, 0.000'2, 0.000'5, 0.001,
                                                         0.002,    0.005,    0.01,    0.1,     1};
  static constexpr std::array<double, 9> kStoppedBounds = {0.000'1, 0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 30};

  template <size_t kBounds>
  struct Distribution {
    std::array<uint64_t, kBounds + 1> counts{};
    double sum = 0;
  };

  void PutCaptures(MetricsText& text) const;
  void PutTraces(MetricsText& text) const;
  void PutCpu(MetricsText& text, const CaptureUsage& usage) const;
  void PutStops(MetricsText& text) const;

  using Pair = std::pair<std::string, std::string>;
  mutable std::mutex mutex_;
  std::map<Pair, uint64_t> ended_;             // what, result
  std::map<std::string, uint64_t> failures_;   // by reason
  std::map<Pair, uint64_t> decisions_;         // what, outcome
  std::map<std::string, uint64_t> denials_;    // by reason
  std::map<std::string, uint64_t> forgotten_;  // by why
  uint64_t forgotten_bytes_ = 0;
  Accounting sum_;
  GpuAccounting gpu_;
  uint64_t bytes_ = 0;
  Nanos cpu_;                // of ended captures of every kind
  mutable Nanos shown_cpu_;  // a counter must not decrease, though an ending capture is briefly counted nowhere
  Distribution<kAttachBounds.size()> attach_;
  Distribution<kStopBounds.size()> longest_stop_;
  Distribution<kStoppedBounds.size()> stopped_;
};

}  // namespace ptrace_prof

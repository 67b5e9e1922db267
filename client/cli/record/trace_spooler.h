// Copies a trace from a running capture to its spool file until the capture ends, and ends the capture on request.
//
//   kRunning ──enough interrupts──► kStopping ──one more──► aborted (collector killed)
//      │                               │  └─kStopPatience over: killed
//      └────────── end of bytes ───────┴──► done
// A full disk stops the capture but keeps what was written. One object, one recording, one thread.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "client/cli/interrupts.h"
#include "client/cli/record/progress.h"
#include "client/cli/record/spool_file.h"
#include "client/remote/capture_backend.h"
#include "daemon/trace/read/trace_meter.h"

namespace ptrace_prof {

class TraceSpooler {
 public:
  // `tell` receives the collector's notices as they arrive.
  TraceSpooler(CaptureStream& stream, SpoolFile& spool, Interrupts& interrupts, Progress& progress,
               std::function<void(std::string_view notice)> report);

  // `each_turn` is called several times a second, and after each part of the trace.
  void Run(const std::function<void()>& each_turn = {});

  const TraceMeter& meter() const { return meter_; }
  bool aborted() const { return aborted_; }
  const std::optional<Error>& disk_error() const { return disk_error_; }
  // The stream was not a trace, or the collector did not end cleanly.
  const std::optional<Error>& collector_error() const { return collector_error_; }

 private:
  void Take(std::span<const std::byte> bytes);
  void ReportNotices();
  void ObeyInterrupts();
  void StopCapture();

  CaptureStream& stream_;
  SpoolFile& spool_;
  Interrupts& interrupts_;
  Progress& progress_;
  const std::function<void(std::string_view)> report_;
  size_t reported_ = 0;  // number of notices of the trace that were reported
  std::set<std::string> reported_texts_;
  TraceMeter meter_;
  int interrupts_to_stop_;
  std::optional<Nanos> stopping_since_;
  bool killed_ = false;
  bool aborted_ = false;
  std::optional<Error> disk_error_;
  std::optional<Error> collector_error_;
};

}  // namespace ptrace_prof

#include "client/cli/record/trace_spooler.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr Nanos kSpoolPoll = Nanos::FromMillis(100);
constexpr Nanos kStopPatience = Nanos::FromSeconds(10);
constexpr size_t kBufferSize = 256 * 1024;

}  // namespace

// With a command, the first interrupt does not stop the recording: the command gets it too, and its end is worth
// recording.
TraceSpooler::TraceSpooler(CaptureStream& stream, SpoolFile& spool, Interrupts& interrupts, Progress& progress,
                           std::function<void(std::string_view notice)> report)
    : stream_(stream),
      spool_(spool),
      interrupts_(interrupts),
      progress_(progress),
      report_(std::move(report)),
      interrupts_to_stop_(stream.command().value > 0 ? 2 : 1) {}

void TraceSpooler::StopCapture() {
  if (!stopping_since_.has_value()) {
    stopping_since_ = MonotonicNow();
    stream_.Stop();
  }
}

void TraceSpooler::ObeyInterrupts() {
  while (const auto signal = interrupts_.NextToForward()) {
    stream_.SignalCommand(*signal);
  }
  const int count = interrupts_.count();
  if (count >= interrupts_to_stop_) {
    StopCapture();
  }
  aborted_ = aborted_ || count > interrupts_to_stop_;
  const bool too_slow = stopping_since_.has_value() && MonotonicNow() - *stopping_since_ > kStopPatience;
  if ((aborted_ || too_slow) && !killed_) {
    killed_ = true;
    stream_.Kill();
  }
}

void TraceSpooler::Take(std::span<const std::byte> bytes) {
  if (!disk_error_.has_value()) {
    if (auto appended = spool_.Append(bytes); appended.has_error()) {
      disk_error_ = std::move(appended).error();
      StopCapture();
    }
  }
  if (collector_error_.has_value()) {
    return;
  }
  if (auto fed = meter_.Feed(bytes); fed.has_error()) {
    collector_error_ = std::move(fed).error();
    StopCapture();
  }
  if (meter_.request().has_value()) {
    progress_.Settle(*meter_.request());
  }
  progress_.Show(meter_.Totals());
  ReportNotices();
}

void TraceSpooler::ReportNotices() {
  const auto report = [this](const std::string& notice) {
    if (reported_texts_.insert(notice).second) {
      progress_.Clear();
      report_(notice);
    }
  };
  std::ranges::for_each(stream_.TakeNotices(), report);
  for (; reported_ < meter_.notices().size(); ++reported_) {
    report(meter_.notices()[reported_]);
  }
}

void TraceSpooler::Run(const std::function<void()>& each_turn) {
  const auto buffer = std::make_unique<std::byte[]>(kBufferSize);
  for (bool ended = false; !ended;) {
    ObeyInterrupts();
    auto chunk = stream_.Read({buffer.get(), kBufferSize}, kSpoolPoll);
    if (chunk.has_error()) {
      collector_error_ = std::move(chunk).error();
      StopCapture();
      break;
    }
    ended = chunk.value().ended;
    if (chunk.value().size > 0) {
      Take({buffer.get(), chunk.value().size});
    }
    if (each_turn) {
      each_turn();
    }
  }
  progress_.Clear();
  auto finished = stream_.Finish();
  if (finished.has_error() && !collector_error_.has_value() && !aborted_) {
    const Reason reason = finished.error().reason;
    const bool is_disk = reason == Reason::kDiskFull || reason == Reason::kStorageFailed;
    (is_disk ? disk_error_ : collector_error_) = std::move(finished).error();
  }
}

}  // namespace ptrace_prof

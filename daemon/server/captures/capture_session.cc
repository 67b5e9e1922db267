#include "daemon/server/captures/capture_session.h"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <vector>

#include "attach/base/own_memory.h"
#include "attach/base/started_thread.h"
#include "attach/base/wall_clock.h"
#include "daemon/trace/accounting_sum.h"

namespace ptrace_prof {
namespace {

constexpr int kSignOfLifeMs = 1000;
constexpr int kImpatientMs = 50;
constexpr size_t kBufferSize = 256 * 1024;
constexpr Nanos kEndWait = Nanos::FromSeconds(5);
// Indexed by CancelCause.
constexpr std::array<const char*, 3> kCancelledWords = {
    "cancelled", "cancelled: no client was left, and `keep` is not set", "cancelled: ptrace-profd was shut down"};

std::optional<Error> CheckStatus(const std::optional<int>& status) {
  constexpr char kKept[] = "what was recorded until then is kept; the target is not affected";
  if (!status.has_value()) {
    return Because(Reason::kCollectorFailed, "the collector did not end and was killed", kKept);
  }
  if (WIFSIGNALED(*status)) {
    return Because(
        Reason::kCollectorFailed,
        fmt::format("the collector was ended by signal {} ({})", WTERMSIG(*status), ::strsignal(WTERMSIG(*status))),
        kKept);
  }
  if (WEXITSTATUS(*status) == 127) {
    return Because(Reason::kCollectorFailed, "cannot start the collector from /proc/self/exe",
                   "check that /proc is mounted and that this file may be executed");
  }
  if (WEXITSTATUS(*status) != 0) {
    return Because(Reason::kCollectorFailed, fmt::format("the collector failed with status {}", WEXITSTATUS(*status)));
  }
  return std::nullopt;
}

GpuAccounting SumOfProcesses(const std::vector<GpuAccounting>& processes) {
  GpuAccounting sum;
  for (const GpuAccounting& one : processes) {
    sum = SumOf(sum, one);
  }
  return sum;
}

Result<std::unique_ptr<TraceSpool>> MakeSpool(const CaptureParameters& parameters, Nanos created) {
  CaptureRecord record{parameters, {}};
  record.state.created = created;
  return parameters.shelf == nullptr ? TraceSpool::Create(parameters.spool_folder) : parameters.shelf->Begin(record);
}

}  // namespace

Result<std::shared_ptr<CaptureSession>> CaptureSession::Start(const CaptureParameters& parameters,
                                                              CollectorStarter& starter) {
  PP_RETURN_IF_ERROR(CheckRoomForMore());
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) {
    return ErrnoError(errno, "cannot make an eventfd");
  }
  const Nanos created = RealtimeNow();
  PP_ASSIGN_OR_RETURN(auto spool, MakeSpool(parameters, created));
  const auto not_begun = [&](Error why) {
    if (parameters.shelf != nullptr) {
      (void)parameters.shelf->Remove(parameters.id);
    }
    return why;
  };
  auto collector = starter.Start(parameters.request);
  if (collector.has_error()) {
    return not_begun(std::move(collector).error());
  }
  std::shared_ptr<CaptureSession> session(
      new CaptureSession(parameters, std::move(spool), std::move(collector).value(), std::move(wake), created));
  auto thread = StartThread([raw = session.get()] { raw->Run(); });
  if (thread.has_error()) {
    session->collector_->Kill();
    return not_begun(std::move(thread).error());
  }
  session->thread_ = std::move(thread).value();
  return session;
}

std::shared_ptr<CaptureSession> CaptureSession::Restore(CaptureShelf::Found found) {
  std::shared_ptr<CaptureSession> session(
      new CaptureSession(found.record.parameters, std::move(found.spool), nullptr, UniqueFd(), Nanos()));
  session->now_ = std::move(found.record.state);
  session->is_saved_ = true;
  session->meter_.reset();
  return session;
}

CaptureSession::CaptureSession(const CaptureParameters& parameters, std::unique_ptr<TraceSpool> spool,
                               std::unique_ptr<Collector> collector, UniqueFd wake, Nanos created)
    : parameters_(parameters),
      spool_(std::move(spool)),
      collector_(std::move(collector)),
      wake_(std::move(wake)),
      share_(parameters.account) {
  now_.created = created;
  now_.notices = parameters_.notices;
  share_.Set(spool_->size());
}

CaptureSession::~CaptureSession() {
  Cancel();
  if (thread_.joinable()) {
    thread_.join();
  }
}

CaptureSnapshot CaptureSession::Snapshot() const {
  const std::lock_guard lock(mutex_);
  CaptureSnapshot snapshot = now_;
  snapshot.trace_bytes = spool_->size();
  return snapshot;
}

void CaptureSession::Cancel(CancelCause cause) {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = cancelled_.value_or(cause);
  }
  Wake();
}

void CaptureSession::CancelInHaste() {
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = cancelled_.value_or(CancelCause::kAsked);
    in_haste_ = true;
  }
  Wake();
}

void CaptureSession::ShareStops(uint8_t captures) {
  if (sharers_.exchange(captures) != captures) {
    Wake();
  }
}

void CaptureSession::Wake() {
  const std::lock_guard lock(mutex_);
  if (wake_.is_open()) {
    const uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  }
}

bool CaptureSession::WaitForEnd(Nanos timeout) const {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, std::chrono::nanoseconds(timeout.value), [&] { return HasEnded(now_.state); });
}

Result<void> CaptureSession::SaveRecord() {
  const std::lock_guard lock(record_mutex_);
  if (is_saved_ || parameters_.shelf == nullptr) {
    return {};
  }
  PP_RETURN_IF_ERROR(parameters_.shelf->Write({parameters_, Snapshot()}));
  is_saved_ = true;
  return {};
}

CaptureSession::ListenerId CaptureSession::Subscribe(std::function<void()> listener) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.emplace(next_listener_, std::move(listener));
  ++listening_;
  return next_listener_++;
}

void CaptureSession::Unsubscribe(ListenerId id) {
  const std::lock_guard lock(listeners_mutex_);
  listening_ -= listeners_.erase(id);
  Attend();
}

Nanos CaptureSession::UnattendedFor() const { return listening_ == 0 ? MonotonicNow() - Nanos(attended_) : Nanos(); }

void CaptureSession::Report() {
  const std::lock_guard lock(listeners_mutex_);
  for (const auto& [id, listener] : listeners_) {
    listener();
  }
}

void CaptureSession::ObeyCancel() {
  if (const uint8_t sharers = sharers_; sharers != reported_sharers_) {
    reported_sharers_ = sharers;
    collector_->ShareStops(sharers);
  }
  Nanos patience = parameters_.stop_patience;
  {
    const std::lock_guard lock(mutex_);
    patience = in_haste_ ? Nanos() : patience;
    const bool stop = cancelled_.has_value() || trouble_.has_value() || !limit_message_.empty();
    if (stop && !stopping_since_.has_value()) {
      stopping_since_ = MonotonicNow();
      now_.state = CaptureState::kDraining;
      collector_->Stop();
    }
  }
  if (stopping_since_.has_value() && !killed_since_.has_value() && MonotonicNow() - *stopping_since_ > patience) {
    killed_since_ = MonotonicNow();
    collector_->Kill();
  }
}

void CaptureSession::TakeTotals() {
  now_.totals = meter_->Totals();
  now_.gpu = SumOfProcesses(meter_->gpu_totals());
  now_.cpu = std::clamp(now_.totals.collector_cpu, Nanos(), std::max(RealtimeNow() - now_.created, Nanos()));
  now_.notices = parameters_.notices;
  now_.notices.insert(now_.notices.end(), meter_->notices().begin(), meter_->notices().end());
  if (!now_.mode && meter_->request()) {
    now_.mode = meter_->request()->spec().mode();
    now_.sampled_because = meter_->request()->sampled_because();
  }
}

bool CaptureSession::TakeBytes() {
  static thread_local std::vector<std::byte> buffer(kBufferSize);
  const ssize_t got = ::read(collector_->stream_fd(), buffer.data(), buffer.size());
  if (got <= 0) {
    return got < 0 && errno == EINTR;
  }
  const std::span<const std::byte> bytes(buffer.data(), static_cast<size_t>(got));
  if (trouble_.has_value()) {
    return true;  // read on, so that the collector can end
  }
  auto stored = spool_->Append(bytes);
  auto read = stored.has_error() ? std::move(stored) : meter_->Feed(bytes);
  const std::lock_guard lock(mutex_);
  if (read.has_error()) {
    trouble_ = std::move(read).error();
  }
  if (now_.state == CaptureState::kPending) {
    now_.state = CaptureState::kRunning;
    now_.started = RealtimeNow();
  }
  TakeTotals();
  share_.Set(spool_->size());
  if (limit_message_.empty() && !trouble_.has_value()) {
    ObeyLimits();
  }
  return true;
}

void CaptureSession::ObeyLimits() {
  const bool is_too_much = parameters_.max_bytes > 0 && spool_->stored() >= parameters_.max_bytes;
  if (is_too_much && parameters_.id.empty()) {
    trouble_ = TooMuch();
  } else if (is_too_much) {
    limit_message_ = fmt::format("the trace has reached its limit of {} bytes", parameters_.max_bytes);
  } else if (const SpoolAccount* account = share_.account(); account != nullptr && account->is_full()) {
    limit_message_ = fmt::format("the traces of user {} together have reached their limit of {} bytes",
                                 parameters_.owner.uid, account->limit());
  }
}

// For a dump, listing or live view, a part of the trace is no useful answer, so reaching the limit is an error.
Error CaptureSession::TooMuch() const {
  return Because(Reason::kQuota,
                 fmt::format("the result exceeds the limit of {} MiB for {}", parameters_.max_bytes >> 20,
                             parameters_.request.verb() == CaptureTask::RECORD ? "a live view" : "a dump or a listing"),
                 "request less (one process, fewer frames), or record a capture and read its trace");
}

void CaptureSession::Conclude() {
  std::optional<int> status = collector_->Wait(kEndWait);
  if (!status.has_value()) {
    collector_->Kill();
    collector_->Wait(kEndWait);
  }
  std::optional<Error> error = trouble_.has_value() ? trouble_ : collector_->WhyNotStarted();
  error = error.has_value() ? error : CheckStatus(status);
  const std::lock_guard lock(mutex_);
  const auto& end = meter_->end();
  const bool was_success =
      end.has_value() && (end->code == Code::kOk || (end->code == Code::kGone && meter_->recorded_anything()));
  if (!error.has_value() && !was_success) {
    error = end.has_value() ? ErrorOf(*end)
                            : Because(Reason::kCollectorFailed, "the collector ended before its trace was complete");
  }
  const bool was_held = error.has_value() && (error->reason == Reason::kBeingTraced ||
                                              error->reason == Reason::kAlreadyTraced);  // the other was about to trace
  if (was_held && !parameters_.rival.empty()) {
    error->message += fmt::format(" ({})", parameters_.rival);
  }
  if (error.has_value() && error->thing.empty() && !parameters_.id.empty()) {
    error->thing = "capture " + parameters_.id;
  }
  TakeTotals();
  now_.cpu = collector_->cpu_time().value > 0 ? collector_->cpu_time() : now_.cpu;
  now_.ended = RealtimeNow();
  now_.end_message = !limit_message_.empty() ? limit_message_ : end.has_value() ? end->message : "";
  ReportEnd(std::move(error));
  ended_.notify_all();
}

// A full disk is always a failure. An error of a collector that was asked to stop leaves the capture kCancelled.
void CaptureSession::ReportEnd(std::optional<Error> error) {
  if (!cancelled_.has_value() || trouble_.has_value()) {
    now_.state = error.has_value() ? CaptureState::kFailed : CaptureState::kSucceeded;
    now_.error = std::move(error);
    return;
  }
  now_.state = CaptureState::kCancelled;
  const std::string cancelled = kCancelledWords[static_cast<size_t>(*cancelled_)];
  now_.end_message = now_.end_message.empty() ? cancelled : fmt::format("{}; {}", cancelled, now_.end_message);
  if (killed_since_.has_value() && error.has_value()) {
    error->message = fmt::format("the collector did not end {} and was killed: the end of its trace is missing",
                                 in_haste_ ? std::string("in the time that was left")
                                           : fmt::format("within {:g} s", parameters_.stop_patience.seconds()));
    error->remedy = "what was recorded until then is kept; the target is not affected";
  }
  const bool was_asked_for = *cancelled_ != CancelCause::kDaemonEnding;
  if (!error.has_value() && !was_asked_for) {
    error = Error{Code::kUnknown, "", "what was recorded until then is kept; the target is not affected"};
    error->thing = parameters_.id.empty() ? "" : "capture " + parameters_.id;
  }
  if (error.has_value()) {
    error->reason = was_asked_for ? Reason::kCancelled : Reason::kDaemonEnding;
    error->code = CodeOf(error->reason);
    error->message = error->message.empty() ? cancelled : fmt::format("{}; {}", cancelled, error->message);
    now_.error = std::move(error);
  }
}

// The end of the pipe may never come: the collector's user can hold the pipe open. And a thread that the kernel holds
// in a wedged target does not even end on SIGKILL.
bool CaptureSession::HasMore(bool is_silent) {
  if (killed_since_.has_value() && MonotonicNow() - *killed_since_ > kEndWait) {
    return false;
  }
  const bool had_ended = has_ended_;  // read before this look at the pipe, which was empty
  has_ended_ = is_silent && collector_->Wait(Nanos()).has_value();
  return !(is_silent && had_ended);
}

// Releases resources: hundreds of ended captures may be kept.
void CaptureSession::Rest() {
  collector_.reset();
  meter_.reset();
  spool_->Rest();
  const std::lock_guard lock(mutex_);
  wake_.reset();
}

void CaptureSession::Run() {
  Nanos reported = MonotonicNow();
  for (bool more = true; more;) {
    pollfd ready[] = {{collector_->stream_fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(ready, 2, has_ended_ ? 0 : stopping_since_.has_value() ? kImpatientMs : kSignOfLifeMs);
    if (ready[1].revents != 0) {
      uint64_t count = 0;
      (void)!::read(wake_.get(), &count, sizeof count);
    }
    ObeyCancel();
    const bool has_bytes = ready[0].revents != 0;
    more = (!has_bytes || TakeBytes()) && HasMore(!has_bytes);
    if (const Nanos now = MonotonicNow(); has_bytes || now - reported >= Nanos::FromMillis(kSignOfLifeMs)) {
      reported = now;
      Report();
    }
  }
  Conclude();
  collector_->Concluded(Snapshot().error);
  (void)SaveRecord().has_error();  // the registry tries again
  if (parameters_.on_end) {
    parameters_.on_end(parameters_, Snapshot());
  }
  Report();
  Rest();  // last: destroying a collector that does not end takes time
}

}  // namespace ptrace_prof

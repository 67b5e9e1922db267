#include "daemon/collector/gpu/gpu_capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "attach/base/clean_text.h"
#include "attach/inject/gpu_failure.h"
#include "daemon/collector/gpu/gpu_library_notices.h"
#include "daemon/collector/inspect/gpu_library.h"
#include "daemon/collector/target/patient_open.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kAttachPatience = Nanos::FromSeconds(10);  // until CUPTI records
constexpr Nanos kSettleEvery = Nanos::FromMillis(100);
constexpr Nanos kGpuTotalsEvery = Nanos::FromMillis(500);
constexpr Nanos kBufferClockError =
    Nanos::FromMillis(1);  // error of a buffer's clock: its thread may have waited between two reads
constexpr size_t kBytesAtOnce = size_t{16} << 20;            // of buffers, before the other sources have their turn
constexpr Nanos kRemembered = Nanos::FromSeconds(5);         // records may come that late
constexpr Nanos kLaunchRemembered = Nanos::FromSeconds(60);  // launches are few, and their calls may take long
// From CUPTI 13.1 update 1 on, correlations of graphs are right in later sessions of a process too.
constexpr uint32_t kLinksGraphsAgain = 130101;

}  // namespace

GpuCapture::GpuCapture(const RecordedProcess& target, GpuStackKind stacks, const CaptureContext& context)
    : target_(target),
      stacks_(stacks),
      context_(context),
      names_(target.memory),
      texts_(target.memory),
      launch_stacks_(target.memory, target.process.python, context.stacks),
      sites_(target.pid, target.roster, *context.history, launch_stacks_, context.stacks, context.writer, stacks),
      joiner_(target.pid, context.writer, context.stacks, names_, clock_, sites_),
      annotations_(context.writer, texts_, clock_, sites_),
      wishes_(WishesFor(context, stacks == GpuStackKind::kSampled)),
      wanted_(wishes_.detail),
      status_(target.pid, context.writer) {
  status_.accounting().launch_rate = wishes_.launch_rate;
  status_.accounting().graph_rate = wishes_.graph_rate;
}

bool GpuCapture::WantsAnnotations() const { return wishes_.detail == GpuDetail::kFull; }

Result<void> GpuCapture::Prepare(const GoOn& go_on) {
  if (auto named = NvtxInjectionOf(target_.pid); named.has_value()) {
    nvtx_injection_ = std::move(named).value();
  }
  auto entry = EnterGpu(target_, context_, wishes_, go_on);
  if (entry.has_error() && target_.process.HasExeced(target_.memory)) {
    entry = LostWhileOpened(target_.pid);
  }
  if (entry.has_error()) {
    refusal_ = std::move(entry).error();
    return *refusal_;
  }
  memory_is_unknown_ = entry.value().memory_is_unknown;
  injection_.emplace(std::move(entry).value().injection);
  injection_->arena.TouchAll();
  attach_deadline_ = MonotonicNow() + kAttachPatience;
  return {};
}

Result<Nanos> GpuCapture::Arm(Nanos begun) {
  coverage_.Open(begun);
  if (stacks_ == GpuStackKind::kTraced) {
    joiner_.Open(begun);
    annotations_.Open(begun);
  }
  if (refusal_.has_value()) {
    Refuse(*refusal_);
  }
  return begun;
}

void GpuCapture::KeepAlive() {
  if (injection_.has_value()) {
    injection_->arena.RenewLease();
  }
}

void GpuCapture::Refuse(const Error& error) {
  const Nanos now = MonotonicNow();
  status_.Refuse(now, error);
  Account(now);
}

void GpuCapture::End(const Error& error) {
  const Nanos now = MonotonicNow();
  annotations_.Close(now);
  coverage_.End(now);
  status_.End(now, error);
}

void GpuCapture::Abandon() {
  if (injection_.has_value()) {
    injection_->arena.AskToLeave(GpuLeave::kNow);
  }
}

// False: refused.
bool GpuCapture::TakeClock(const GpuLibrary& library) {
  if (library.record_time == PP_GPU_TIME_MONOTONIC) {
    clock_.SetIdentity();
  } else if (library.record_time == PP_GPU_TIME_OTHER) {
    clock_.SetFitted();
    context_.writer.AddNotice(MonotonicNow(),
                              fmt::format("another tool in process {} has set CUPTI to its own clock (PyTorch's "
                                          "profiler does that): GPU times are converted to our clock by comparing both",
                                          target_.pid.value));
    if (const std::string zeros = times_.Begin(target_.pid, library); !zeros.empty()) {
      context_.writer.AddNotice(MonotonicNow(), zeros);
    }
  } else if (library.record_time != PP_GPU_TIME_REALTIME) {
    injection_->arena.AskToLeave(GpuLeave::kNow);
    Refuse(Because(
        Reason::kConflictSubscriber,
        fmt::format(
            "another tool in process {} has set CUPTI to an unknown clock, and it could not be replaced in time",
            target_.pid.value),
        "record after that tool has ended, or restart the job", fmt::format("process {}", target_.pid.value)));
    return false;
  }
  return true;
}

void GpuCapture::BeginRecording() {
  const GpuLibrary library = injection_->arena.library();
  status_.accounting().cupti_version = library.version;
  if (!TakeClock(library)) {
    return;
  }
  decoder_.emplace(library.strides);
  joiner_.Begin(library.recording_since);
  coverage_.Begin(library.recording_since);
  if (injection_->sessions_before > 0 && library.version < kLinksGraphsAgain) {
    joiner_.DistrustGraphs();
  }
  status_.Begin();
  for (const std::string& notice : GpuLibraryNotices(target_.pid, library)) {
    context_.writer.AddNotice(MonotonicNow(), notice);
  }
  if (memory_is_unknown_) {
    context_.writer.AddNotice(MonotonicNow(), fmt::format("the free GPU memory of process {} was not checked: NVML "
                                                          "does not report it, or /dev/nvidiactl is not visible here",
                                                          target_.pid.value));
  }
}

Error GpuCapture::NotUpInTime(std::string_view when) const {
  return Because(Reason::kAttachTimeout,
                 fmt::format("CUPTI in process {} did not start recording {}: it is {}", target_.pid.value, when,
                             injection_->arena.step()),
                 "try again later, or without --gpu", ThingOf(target_.pid));
}

// Follows the state of the shim.
void GpuCapture::Follow(Nanos now) {
  const GpuState state = injection_->arena.state();
  const bool has_begun = decoder_.has_value();
  switch (state) {
    case GpuState::kRecording:
    case GpuState::kDetaching:  // if it was called off before it recorded, its clock is unknown
      if (!has_begun &&
          (state == GpuState::kRecording || injection_->arena.library().record_time != PP_GPU_TIME_UNKNOWN)) {
        BeginRecording();
      }
      break;
    case GpuState::kFailed:
      if (status_.is_starting()) {
        Refuse(injection_->arena.Failure(target_.pid));
        injection_->arena.AskToLeave(GpuLeave::kNow);  // it waits until its state was seen
      }
      break;
    case GpuState::kLeft:
      if (status_.is_recording() || status_.sees_no_kernels()) {
        if (const Error failure = injection_->arena.Failure(target_.pid); failure.code != Code::kOk) {
          End(failure);
        }
      }
      break;
    case GpuState::kNone:
    case GpuState::kAttaching:
      if (status_.is_starting() && now > attach_deadline_) {
        const Error late = NotUpInTime(fmt::format("within {:.0f} s", kAttachPatience.seconds()));
        injection_->arena.AskToLeave(GpuLeave::kNow);
        Refuse(late);
      }
      break;
  }
}

void GpuCapture::Decode(const GpuBatch& batch) {
  decoder_->Decode(batch.records, [this](const GpuRecord& record) {
    unreported_ += is_over_ && record.start != 0 && !clock_.IsReported(record.start) ? 1 : 0;
    if (record.kind == GpuRecordKind::kMarker) {
      annotations_.Take(record);
    } else if (wanted_.Has(record)) {
      joiner_.Take(record);
    }
  });
}

// Buffers wait until their times can be converted. A clock of another tool needs a few readings for that, and one that
// is later than the buffer, as the clock may have been set in between. At the end nothing is left to wait for.
bool GpuCapture::MayDecode() const { return clock_.is_settled() || !clock_.is_fitted() || is_over_; }

void GpuCapture::TakeBuffers() {
  GpuArena& arena = injection_->arena;
  for (const GpuClockPair& pair : arena.NewClocks()) {
    clock_.AddPair(pair.realtime, pair.monotonic, pair.width);
  }
  launch_stacks_.Take(arena.launches());
  if (!decoder_.has_value() || !MayDecode()) {
    return;
  }
  bool is_first = true;
  status_.accounting().buffers += arena.Drain(
      [this, &is_first](const GpuBatch& batch) {
        if (std::exchange(is_first, false)) {
          names_.NewRound();
          texts_.NewRound();
        }
        clock_.Saw(batch.clock.realtime, batch.clock.monotonic);
        // Used only if the ring has no readings, as the error of those is known.
        if (!clock_.is_known() && !clock_.is_fitted()) {
          clock_.AddPair(batch.clock.realtime, batch.clock.monotonic, kBufferClockError);
        }
        Decode(batch);
      },
      std::max<size_t>(1, kBytesAtOnce / arena.shape().slot_bytes),
      clock_.is_fitted() && !is_over_ ? clock_.last_pair() : Nanos(INT64_MAX));
}

void GpuCapture::Account(Nanos now) {
  next_account_ = now + kGpuTotalsEvery;
  if (injection_.has_value()) {
    const GpuCounts counts = injection_->arena.counts();
    status_.accounting().dropped = counts.dropped;
    status_.accounting().declined_buffers = counts.declined + counts.discarded + counts.invalid;
    status_.accounting().stacks_refused = counts.stacks_refused;
    status_.accounting().stacks_lost = counts.stacks_lost;
    status_.accounting().unknown_records = decoder_.has_value() ? decoder_->unknown() : 0;
  }
  joiner_.CountInto(status_.accounting());
  annotations_.CountInto(status_.accounting());
  status_.accounting().uncovered_ns = static_cast<uint64_t>(coverage_.Missing(now, clock_.unsure()).value);
  LookAtTimes();
  LookAtSilence(now);
  context_.writer.AddGpuAccounting(status_.accounting());
}

void GpuCapture::LookAtSilence(Nanos now) {
  const bool is_nothing = has_finished_ && joiner_.silence().heard().value == 0;
  status_.TakeSilence(now, is_nothing ? joiner_.silence().AtEndOfNothing(now) : joiner_.silence().At(now));
}

void GpuCapture::LookAtTimes() {
  const std::optional<Error> lost = times_.Look(target_.pid, status_.accounting(), joiner_.zeros());
  if (lost.has_value() && status_.is_recording() && unreported_ == 0) {
    End(*lost);
    injection_->arena.AskToLeave(HowToLeave());
  }
}

void GpuCapture::Poll(Nanos now, Nanos known_until) {
  if (!injection_.has_value() || status_.is_refused()) {
    return;
  }
  injection_->arena.RenewLease();
  Follow(now);
  TakeBuffers();
  if (now >= next_settle_) {
    next_settle_ = now + kSettleEvery;
    sites_.Refresh();
    joiner_.Settle(now, known_until);
    annotations_.Settle();
    context_.history->Forget(now - kRemembered);
    launch_stacks_.Forget(now - kLaunchRemembered);
  }
  if (now >= next_account_) {
    Account(now);
  }
}

// Counts lost records and lost buffers.
uint64_t GpuCapture::CountLacks() const {
  const GpuCounts counts = injection_->arena.counts();
  return counts.dropped + counts.declined + counts.discarded + counts.invalid;
}

// Taking CUPTI down makes the capture of a graph fail. If records were lost, or are not read yet, such a capture cannot
// be ruled out.
GpuLeave GpuCapture::HowToLeave() const {
  return CountLacks() > 0 || !MayDecode() || joiner_.MayBeCapturing(MonotonicNow()) ? GpuLeave::kUp
                                                                                    : GpuLeave::kWhenDone;
}

void GpuCapture::Disarm(Nanos patience, const std::function<void()>& meanwhile) {
  if (!injection_.has_value() || status_.is_refused()) {
    return;
  }
  GpuArena& arena = injection_->arena;
  const Nanos now = MonotonicNow();
  joiner_.Close(now);
  coverage_.Close(now);
  annotations_.Close(now);
  const Error not_up = NotUpInTime("before the capture ended");  // as the state is now
  arena.AskToLeave(HowToLeave());
  const auto drain = [&] {
    meanwhile();
    arena.RenewLease();
    Follow(MonotonicNow());
    TakeBuffers();
  };
  const bool is_gone = patience.value == 0;  // the process is gone, and the shim with it
  if (const auto left = is_gone ? Result<void>() : AwaitLeft(target_.pid, arena, MonotonicNow() + patience, drain);
      left.has_error() && left.error().code != Code::kGone) {
    context_.writer.AddNotice(MonotonicNow(), left.error().message);
  }
  if (const std::string_view stays = GpuLeftWords(arena.leave_how());
      arena.state() == GpuState::kLeft && !stays.empty()) {
    context_.writer.AddNotice(MonotonicNow(),
                              fmt::format("CUPTI stays loaded in process {}, switched off: {}; CUDA calls may be "
                                          "slower until the process ends (by 10 to 50 % in known cases)",
                                          target_.pid.value, stays));
  }
  if (status_.is_starting()) {
    Refuse(not_up);
  }
  if (decoder_.has_value()) {
    TakeTheRest(is_gone);
  }
  if (arena.state() == GpuState::kLeft) {
    arena.LetGo();
  }
}

void GpuCapture::TakeTheRest(bool is_gone) {
  GpuArena& arena = injection_->arena;
  is_over_ = true;
  if (is_gone) {
    TakeBuffers();  // and the stacks of launches
  }
  if (is_gone || arena.state() == GpuState::kLeft) {
    TakeWhatWasKept(is_gone);
  }
  // Not more than exist: a hostile target may go on counting and giving back.
  const uint64_t completed = arena.counts().completed;
  const uint64_t most = status_.accounting().buffers + arena.shape().slots;
  while (completed > status_.accounting().buffers && status_.accounting().buffers < most) {
    const uint64_t before = status_.accounting().buffers;
    TakeBuffers();
    if (status_.accounting().buffers == before) {
      break;
    }
  }
  ReportUnreported();
}

// Records whose times could not be converted are counted like records with impossible times.
void GpuCapture::ReportUnreported() {
  const bool is_ours = !clock_.is_fitted() || clock_.is_known();
  if (!is_ours && status_.is_recording()) {
    End(Because(
        Reason::kConflictSubscriber,
        fmt::format(
            "another tool in process {} has set CUPTI to its own clock, and there was no time to compare it with ours",
            target_.pid.value),
        "record for at least one second", ThingOf(target_.pid)));
  }
  if (unreported_ > 0) {
    context_.writer.AddNotice(
        MonotonicNow(), fmt::format("{} GPU records of process {} are left out: their times are unknown, because "
                                    "CUPTI's clock was not compared with ours{}",
                                    unreported_, target_.pid.value, is_ours ? " again after a tool changed it" : ""));
  }
}

// Reads the buffers that CUPTI has not given back because it was taken over, broke down, or its process is gone. They
// are readable as far as they were written.
void GpuCapture::TakeWhatWasKept(bool is_gone) {
  const size_t kept = injection_->arena.Salvage([this](const GpuBatch& batch) { Decode(batch); });
  if (kept > 0 && !is_gone) {
    context_.writer.AddNotice(
        MonotonicNow(),
        fmt::format("CUPTI of process {} has not returned {} of our buffers: some of the last records may be missing",
                    target_.pid.value, kept));
  }
}

void GpuCapture::ReportUnread(Nanos now) {
  if (const uint64_t bytes = decoder_.has_value() ? decoder_->unread_bytes() : 0; bytes > 0) {
    context_.writer.AddNotice(
        now, fmt::format(
                 "{} bytes of CUPTI's records in process {} could not be read: they follow a record of unknown length",
                 bytes, target_.pid.value));
  }
}

// A library of the job binds its NVTX calls at the first one, for good, to what the environment names at that time.
void GpuCapture::ReportNoAnnotations() {
  if (!decoder_.has_value() || !WantsAnnotations() || annotations_.has_seen_any()) {
    return;
  }
  std::string reported = fmt::format("no NVTX range or mark of process {} was seen", target_.pid.value);
  if (nvtx_injection_.has_value()) {
    reported += nvtx_injection_->empty()
                    ? ": it was started without NVTX_INJECTION64_PATH, and a library that has already called NVTX "
                      "ignores it from then on; start the job with that variable set to the path of the libcupti that "
                      "the job loads (not with CUDA 13.0 before update 1, which then crashes)"
                    : fmt::format(": NVTX_INJECTION64_PATH sends its NVTX calls to {}", CleanText(*nvtx_injection_));
  }
  context_.writer.AddNotice(MonotonicNow(), reported);
}

void GpuCapture::Finish(Nanos now) {
  if (injection_.has_value()) {
    sites_.Refresh();
    joiner_.Finish(now);
    annotations_.Finish(now, CountLacks());
    has_finished_ = true;
    Account(now);
    ReportUnread(now);
    ReportNoAnnotations();
  }
}

}  // namespace ptrace_prof

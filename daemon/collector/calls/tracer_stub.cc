#include "daemon/collector/calls/tracer_stub.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "attach/inject/signal_handlers.h"
#include "attach/inject/stub_kind.h"
#include "daemon/collector/calls/call_replayer.h"
#include "daemon/collector/calls/stub_boot.h"
#include "daemon/collector/target/patient_open.h"
#include "daemon/collector/target/start_wait.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kLease = Nanos::FromMillis(1500);  // short, but not so short that a busy machine starves it
// The lease while the threads are stopped one by one, each of which may wait for a CPU. Nothing is recorded yet.
constexpr Nanos kArmingLease = Nanos::FromSeconds(3);
constexpr Nanos kEntryPatience = Nanos::FromSeconds(10);
constexpr Nanos kLeavesByItself = Nanos::FromMillis(2);  // at its next event, which needs no stop
constexpr timespec kShortPause{0, 50'000};
constexpr int kLeavePauseMs = 1;
constexpr uint32_t kLeastRings = 8;
constexpr uint32_t kRingsPerThread = 2;  // threads end, and others begin
constexpr Nanos kLongestHold = Nanos::FromMillis(250);

}  // namespace

TracerStub::TracerStub(const OpenedProcess& process, const CaptureContext& context)
    : process_(process), pid_(process.info.pid), context_(context), memory_(pid_), remote_(pid_) {
  process_.Anchor(space_);
}

ChannelShape TracerStub::Shape(bool mutes) const {
  const auto listed = ListThreads(pid_);
  const auto threads = static_cast<uint32_t>(listed.has_value() ? listed.value().size() : 1);
  ChannelShape shape;
  shape.rings = std::clamp(threads * kRingsPerThread, kLeastRings, PP_MAX_RINGS);
  const uint64_t each = context_.request.spec().trace().buffer_bytes() / shape.rings / sizeof(pp_record);
  shape.records =
      static_cast<uint32_t>(std::bit_floor(std::clamp<uint64_t>(each, PP_MIN_RING_RECORDS, PP_MAX_RING_RECORDS)));
  shape.nonce = MakeNonce();
  shape.mutes = mutes && FactsOf(process_.python.layout.version).has_monitoring;
  return shape;
}

Result<void> TracerStub::BringIn(bool mutes, const std::function<bool()>& go_on) {
  auto brought = TryToBringIn(mutes, go_on);
  // The target may just have set up its first signal handlers. With handlers the text goes another way: try again.
  if (brought.has_error() && brought.error().code == Code::kUnavailable && !target_.signal_handlers) {
    const Result<bool> handlers = HasSignalHandlers(pid_);
    if (handlers.has_value() && handlers.value()) {
      brought = TryToBringIn(mutes, go_on);
    }
  }
  if (brought.has_error() && HasExeced()) {
    return LostWhileOpened(pid_);  // facts of two programs, mixed, look like an unknown version
  }
  return brought;
}

Result<void> TracerStub::TryToBringIn(bool mutes, const std::function<bool()>& go_on) {
  const auto has_started = StartedStill(pid_, memory_, process_);
  PP_RETURN_IF_ERROR(AwaitStart(pid_, {MonotonicNow() + kEntryPatience, go_on, has_started}));
  PP_ASSIGN_OR_RETURN(target_, DescribeForInjection(pid_, memory_, process_.python));
  target_.force = context_.request.spec().force();
  target_.script_files = context_.scripts;
  PP_ASSIGN_OR_RETURN(pp_boot boot, DescribeForStub(pid_, memory_, process_.python));
  const ChannelShape shape = Shape(mutes);
  boot.nonce = shape.nonce;
  boot.ring_count = shape.rings;
  boot.ring_records = shape.records;
  boot.clock = clock_.source() == TickSource::kCounter ? PP_CLOCK_TSC : PP_CLOCK_MONOTONIC;
  boot.flags = (context_.request.spec().trace().c_calls() ? uint32_t{PP_BOOT_C_CALLS} : 0) |
               (shape.mutes ? uint32_t{PP_BOOT_MUTES} : 0);
  boot.lease = clock_.Ticks() + clock_.TicksIn(kEntryPatience);
  boot.longest_hold =
      context_.request.spec().trace().on_full() == v1::ON_FULL_THROTTLE ? clock_.TicksIn(kLongestHold) : 0;
  PP_ASSIGN_OR_RETURN(StubFile stub, StubFile::Carried());
  stub.Fill(boot);
  PP_ASSIGN_OR_RETURN(injection_,
                      Inject(target_, memory_, stub, {MonotonicNow() + kEntryPatience, go_on, has_started}));
  Renew(Lease::kArming);  // the lease during the injection is longer
  injection_->channel.TouchAll();
  if (!process_.mark.is_known()) {  // the stub clears the page when it has left
    space_.Anchor(injection_->channel.private_page(),
                  [this](uint64_t word) { return word == PP_PRIVATE_MAGIC || (word == 0 && has_left()); });
  }
  return {};
}

void TracerStub::Renew(Lease lease) {
  channel().RenewLease(clock_.Ticks() + clock_.TicksIn(lease == Lease::kUsual ? kLease : kArmingLease));
}

Result<void> TracerStub::Arm() {
  Result<void> armed = channel().Arm(memory_, remote_);
  return armed.has_error() && has_left() ? channel().Reason() : std::move(armed);
}

void TracerStub::Leave(Nanos patience, const std::function<void()>& drain) {
  Channel& channel = injection_->channel;
  (void)channel.Disarm(memory_, remote_);  // an error means that the target is gone
  // Frees are reported until the stub leaves. Names read after that may belong to other objects.
  drain();
  const Nanos deadline = MonotonicNow() + patience;
  channel.AskToLeave();
  for (const Nanos asked = MonotonicNow(); !has_left() && MonotonicNow() < asked + kLeavesByItself;) {
    ::nanosleep(&kShortPause, nullptr);
  }
  std::optional<QueuedCall> call;
  while (!has_left() && !process_.HasExited() && !HasExeced() && MonotonicNow() < deadline) {
    if (!call.has_value()) {
      auto queued = QueueLeave(target_, memory_, channel, deadline);
      if (queued.has_value()) {
        call.emplace(std::move(queued).value());
      }
    } else {
      (void)call->Ring();
    }
    drain();
    ::poll(nullptr, 0, kLeavePauseMs);
  }
  while (call.has_value() && MonotonicNow() < deadline) {  // an untaken call is withdrawn below, which costs a stop
    const auto taken = call->Taken();
    if (taken.has_error() || taken.value()) {
      break;
    }
    (void)call->Ring();
    ::poll(nullptr, 0, kLeavePauseMs);
  }
  drain();
}

double TracerStub::CostOf(double ticks) const {
  constexpr double kMostBelieved = 1e5;
  const double cost = ticks * static_cast<double>(clock_.Line().nanos_per_tick) / 4294967296.0;
  return cost > 0 && cost < kMostBelieved ? cost : 0;
}

uint64_t TracerStub::LostEvents(Nanos begin) const {
  const Nanos most = MonotonicNow() - begin;
  const auto believed = [most](uint64_t count) { return CanHaveHappened(count, most) ? count : 0; };
  uint64_t lost = believed(channel().events_without_ring());
  for (const RingReader& ring : channel().rings()) {
    lost += believed(ring.Facts().lost);
  }
  return lost;
}

void TracerStub::CountInto(Nanos begin, Accounting& accounting) const {
  const Nanos most = MonotonicNow() - begin;
  const auto believed = [&](uint64_t count) {
    const bool can_be = CanHaveHappened(count, most);
    accounting.nonsense += can_be ? 0 : 1;
    return can_be ? count : 0;
  };
  accounting.call_events_lost += believed(channel().events_without_ring());
  accounting.holds = 0;
  accounting.held_total = {};
  for (const RingReader& ring : channel().rings()) {
    const RingFacts facts = ring.Facts();
    const TickMap from_zero{.nanos_per_tick = clock_.Line().nanos_per_tick};
    accounting.nonsense += ring.skipped();
    accounting.holds += believed(facts.holds);
    accounting.held_total = accounting.held_total + std::min(from_zero.ToNanos(facts.held_time), most);
  }
  accounting.threads_displaced = has_left() ? channel().hooks_displaced() : 0;
  accounting.event_cost_ns = FrameEventCost();
  accounting.c_event_cost_ns = CallEventCost();
  accounting.stops = injection_->report.stops.stops;
  accounting.stopped_total = injection_->report.stops.total;
  accounting.stopped_longest = injection_->report.stops.longest;
}

}  // namespace ptrace_prof

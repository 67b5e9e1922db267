// The tracer stub in one process: brings it in, keeps it alive, arms it, and takes it off again.
//
//   BringIn ──► Arm ──► Renew… ──► Leave
//
// After BringIn the stub records nothing. It leaves at the target's next event, or by a queued call if the target runs
// no Python code. If this object goes away without Leave, the stub's lease ends and it leaves by itself. It does not
// know what the records mean. Owned by CallTracer; one thread, the one that may trace.
#pragma once

#include <functional>
#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection.h"
#include "attach/proc/anchored_memory.h"
#include "attach/proc/process_memory.h"
#include "daemon/collector/calls/tick_clock.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/opened_process.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

class TracerStub {
 public:
  // `process` outlives this object.
  TracerStub(const OpenedProcess& process, const CaptureContext& context);

  // `mutes`: single functions will be switched off. `go_on` is asked while the target does not take the stub up.
  // Errors as DescribeForInjection and Inject.
  Result<void> BringIn(bool mutes, const std::function<bool()>& go_on);
  // Renews the lease: the usual one, or the longer one for the time in which threads are stopped one by one.
  enum class Lease : uint8_t { kUsual, kArming };
  void Renew(Lease lease);
  // Call it while what runs Python code is stopped.
  Result<void> Arm();
  // Asks the stub to leave, and calls `drain` until it has left or `patience` is over. After that it leaves when the
  // target runs Python code again.
  void Leave(Nanos patience, const std::function<void()>& drain);

  bool IsIn() const { return injection_.has_value(); }
  bool has_left() const { return channel().state() == ChannelState::kLeft; }
  bool HasExeced() { return !space_.IsInPlace(); }
  Channel& channel() { return injection_->channel; }
  const Channel& channel() const { return injection_->channel; }
  ProcessMemory& memory() { return memory_; }
  AnchoredMemory& space() { return space_; }
  TickClock& clock() { return clock_; }
  const TickClock& clock() const { return clock_; }

  // In nanoseconds; 0: it was not measured, or the measured value is implausible.
  double FrameEventCost() const { return CostOf(channel().event_ticks().frame); }
  double CallEventCost() const { return CostOf(channel().event_ticks().call); }
  // Events that no ring had room for, as far as there was time for them since `begin`.
  uint64_t LostEvents(Nanos begin) const;
  // Adds what the target itself counts, and the stops of the injection.
  void CountInto(Nanos begin, Accounting& accounting) const;

 private:
  Result<void> TryToBringIn(bool mutes, const std::function<bool()>& go_on);
  ChannelShape Shape(bool mutes) const;
  double CostOf(double ticks) const;

  const OpenedProcess& process_;
  const Pid pid_;
  const CaptureContext context_;
  ProcessMemory memory_;
  AnchoredMemory space_{memory_};  // refuses to read names in another program
  TickClock clock_{FitTickSource()};
  RemoteWriter remote_;
  InjectionTarget target_;
  std::optional<Injection> injection_;
};

}  // namespace ptrace_prof

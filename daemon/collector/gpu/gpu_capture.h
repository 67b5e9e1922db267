// Records the GPU of one process beside its Python: brings the shim in, reads what comes, leaves again.
//
//   (new) ──BringIn, Begin──► attaching ──► recording ──Leave──► leaving ──Finish──► over
//                                 └─────────────┴──► refused, or ended before the capture: a notice says why
//
// Never fails: what stands in the way of the GPU is said in the trace (GpuAccounting, a notice) and Python is recorded
// all the same. Attaching goes on beside the capture, as it may take seconds. Owned by the capture; one thread, the one
// that may trace.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/gpu_injection.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collector/gpu/gpu_annotations.h"
#include "daemon/collector/gpu/gpu_call_sites.h"
#include "daemon/collector/gpu/gpu_clock.h"
#include "daemon/collector/gpu/gpu_coverage.h"
#include "daemon/collector/gpu/gpu_decoder.h"
#include "daemon/collector/gpu/gpu_detail.h"
#include "daemon/collector/gpu/gpu_joiner.h"
#include "daemon/collector/gpu/gpu_launch_stacks.h"
#include "daemon/collector/gpu/gpu_names.h"
#include "daemon/collector/gpu/gpu_time_check.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/opened_process.h"
#include "daemon/collector/target/thread_roster.h"

namespace ptrace_prof {

struct GpuTarget {
  Pid pid;
  RemoteMemory& memory;
  const OpenedProcess& process;
  ThreadRoster& roster;
  GpuStackKind stacks;
};

class GpuCapture {
 public:
  // `context.history` is where the threads were: whoever follows them notes it there.
  GpuCapture(const GpuTarget& target, const CaptureContext& context);

  // Brings the shim in, and writes nothing yet. `go_on` is asked while the target does not take it up.
  void BringIn(const std::function<bool()>& go_on);
  // The process was announced to the writer: what became of that may be told.
  void Begin();
  // Between the two, while something else takes its time.
  void KeepAlive();
  // Instead of Begin: nothing comes of this capture. The shim leaves by itself.
  void Abandon();
  // From when on it is recorded: launches before that are left out. Not called: from the first record on.
  void Open(Nanos when) {
    joiner_.Open(when);
    coverage_.Open(when);
    annotations_.Open(when);
  }
  // Takes what came; some times a second at least, as it also keeps the shim alive. `known_until`: where the threads
  // were is known up to then.
  void Drain(Nanos now, Nanos known_until);
  // Has the shim leave, and goes on draining until it has or `patience` is over. `meanwhile`: what else must go on.
  // No patience: the target is gone.
  void Leave(Nanos patience, const std::function<void()>& meanwhile);
  // After the last records of the threads were read: what is not settled yet is.
  void Finish(Nanos now);

 private:
  Result<void> CheckMemory();
  Result<GpuInjection> Inject(const std::function<bool()>& go_on);
  void Refuse(const Error& error);
  void End(const Error& error);
  void Follow(Nanos now);
  void BeginRecording();
  bool TakeClock(const GpuLibrary& library);
  Error NotUpInTime(std::string_view when) const;
  bool MayDecode() const;
  void TakeBuffers();
  void Decode(const GpuBatch& batch);
  void TakeTheRest(bool is_gone);
  void TakeWhatWasKept(bool is_gone);
  void TellUntold();
  void Account(Nanos now);
  void LookAtTimes();
  void LookAtSilence(Nanos now);
  void TellSilence(Nanos now, GpuSilence::State silence);
  void TellUnread(Nanos now);
  GpuLeave HowToLeave() const;
  bool WantsAnnotations() const;
  uint64_t CountLacks() const;
  void TellNoAnnotations();

  const GpuTarget target_;
  const CaptureContext context_;
  GpuNames names_;
  GpuNames texts_;  // of annotations: there may be more of them than names of kernels have room
  GpuClock clock_;
  GpuLaunchStacks launch_stacks_;
  GpuThreadSites sites_;
  GpuJoiner joiner_;
  GpuAnnotations annotations_;
  const GpuWantedCalls wanted_;
  std::optional<GpuInjection> injection_;
  std::optional<Error> refusal_;               // of BringIn
  std::optional<std::string> nvtx_injection_;  // where NVTX calls of the process go; nothing: not known
  std::optional<GpuDecoder> decoder_;
  GpuAccounting accounting_;
  GpuCoverage coverage_;
  Nanos attach_deadline_;
  Nanos next_settle_;
  Nanos next_account_;
  GpuTimeCheck times_;
  uint64_t untold_ = 0;   // records that were left out at the end, as CUPTI's clock was not fitted to ours
  bool is_over_ = false;  // no more readings of clocks come, nor buffers
  bool memory_is_unknown_ = false;
  GpuSilence::State told_silence_ = GpuSilence::State::kNone;
  bool has_finished_ = false;  // all that came has been taken
};

}  // namespace ptrace_prof

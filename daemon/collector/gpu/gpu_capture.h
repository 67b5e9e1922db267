// Records the GPU of one process beside its Python: brings the shim in, reads what comes, leaves again.
//
//   (new) ──Prepare, Arm──► attaching ──► recording ──Disarm──► leaving ──Finish──► over
//                               └─────────────┴──► refused, or ended before the capture: a notice says why
//
// It never fails. The trace says what stands in the way of the GPU (GpuAccounting and a notice), and Python is recorded
// all the same. Attaching may take seconds and goes on beside the capture.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/gpu_injection.h"
#include "daemon/collector/gpu/gpu_annotations.h"
#include "daemon/collector/gpu/gpu_call_sites.h"
#include "daemon/collector/gpu/gpu_clock.h"
#include "daemon/collector/gpu/gpu_coverage.h"
#include "daemon/collector/gpu/gpu_decoder.h"
#include "daemon/collector/gpu/gpu_detail.h"
#include "daemon/collector/gpu/gpu_entry.h"
#include "daemon/collector/gpu/gpu_joiner.h"
#include "daemon/collector/gpu/gpu_launch_stacks.h"
#include "daemon/collector/gpu/gpu_names.h"
#include "daemon/collector/gpu/gpu_status.h"
#include "daemon/collector/gpu/gpu_time_check.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/source.h"

namespace ptrace_prof {

class GpuCapture final : public Source {
 public:
  // `context.history`: where the stack source notes the positions of the threads.
  GpuCapture(const RecordedProcess& target, GpuStackKind stacks, const CaptureContext& context);

  Result<void> Prepare(const GoOn& go_on) override;  // writes nothing
  void KeepAlive() override;
  void Abandon() override;  // the shim leaves by itself
  // Where calls are traced, launches before `begun` are left out. Where samples are taken, all launches are recorded.
  Result<Nanos> Arm(Nanos begun) override;
  // Call it some times a second at least: it also keeps the shim alive.
  void Poll(Nanos now, Nanos known_until) override;
  void Disarm(Nanos patience, const std::function<void()>& meanwhile) override;
  void Finish(Nanos now) override;

 private:
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
  void ReportUnreported();
  void Account(Nanos now);
  void LookAtTimes();
  void LookAtSilence(Nanos now);
  void ReportUnread(Nanos now);
  GpuLeave HowToLeave() const;
  bool WantsAnnotations() const;
  uint64_t CountLacks() const;
  void ReportNoAnnotations();

  const RecordedProcess target_;
  const GpuStackKind stacks_;
  const CaptureContext context_;
  GpuNames names_;
  GpuNames texts_;  // of annotations: they would take the room of kernel names
  GpuClock clock_;
  GpuLaunchStacks launch_stacks_;
  GpuThreadSites sites_;
  GpuJoiner joiner_;
  GpuAnnotations annotations_;
  const GpuWishes wishes_;
  const GpuWantedCalls wanted_;
  GpuStatus status_;
  std::optional<GpuInjection> injection_;
  std::optional<Error> refusal_;               // of Prepare
  std::optional<std::string> nvtx_injection_;  // where NVTX calls of the process go; nullopt: unknown
  std::optional<GpuDecoder> decoder_;
  GpuCoverage coverage_;
  Nanos attach_deadline_;
  Nanos next_settle_;
  Nanos next_account_;
  GpuTimeCheck times_;
  uint64_t unreported_ = 0;  // records left out at the end, because CUPTI's clock was not fitted to ours
  bool is_over_ = false;     // no clock readings and no buffers come any more
  bool memory_is_unknown_ = false;
  bool has_finished_ = false;  // everything has been read
};

}  // namespace ptrace_prof

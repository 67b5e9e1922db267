// What the trace says about the recording of one process's GPU: whether it works, and if not, why.
//
//   starting ──► recording ◄──► no kernels ──► ended
//       └──► refused
//
// Each change for the worse is also a notice. Owned by GpuCapture; one thread.
#pragma once

#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/collector/gpu/gpu_silence.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/trace/gpu.h"

namespace ptrace_prof {

class GpuStatus {
 public:
  // `writer` outlives this object.
  GpuStatus(Pid pid, TraceWriter& writer);

  GpuAccounting& accounting() { return accounting_; }
  const GpuAccounting& accounting() const { return accounting_; }
  bool is_starting() const { return accounting_.state == GpuCaptureState::kStarting; }
  bool is_refused() const { return accounting_.state == GpuCaptureState::kRefused; }
  bool is_recording() const { return accounting_.state == GpuCaptureState::kRecording; }
  bool sees_no_kernels() const { return accounting_.state == GpuCaptureState::kNoKernels; }

  void Begin() { accounting_.state = GpuCaptureState::kRecording; }
  void Refuse(Nanos now, const Error& error);
  // The recording ended before the capture.
  void End(Nanos now, const Error& error);
  // Whether kernels are seen of what the process launches. Reports once that none is, and once more when that becomes
  // certain.
  void TakeSilence(Nanos now, GpuSilence::State silence);

 private:
  void Explain(Nanos now, GpuCaptureState state, std::string_view what, const Error& error);
  void ReportSilence(Nanos now, GpuSilence::State silence);

  const Pid pid_;
  TraceWriter& writer_;
  GpuAccounting accounting_;
  GpuSilence::State reported_silence_ = GpuSilence::State::kNone;
};

}  // namespace ptrace_prof

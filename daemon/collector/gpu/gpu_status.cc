#include "daemon/collector/gpu/gpu_status.h"

#include <fmt/format.h>

#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

GpuStatus::GpuStatus(Pid pid, TraceWriter& writer) : pid_(pid), writer_(writer) {
  accounting_.pid = pid;
  accounting_.state = GpuCaptureState::kStarting;
}

void GpuStatus::Explain(Nanos now, GpuCaptureState state, std::string_view what, const Error& error) {
  accounting_.state = state;
  accounting_.reason = ReasonOf(error);
  accounting_.message = error.message;
  accounting_.remedy = error.remedy;
  writer_.AddNotice(now,
                    fmt::format("{}: {}{}{}", what, error.message, error.remedy.empty() ? "" : "; ", error.remedy));
}

void GpuStatus::Refuse(Nanos now, const Error& error) {
  Explain(now, GpuCaptureState::kRefused, "the GPU is not recorded", error);
}

void GpuStatus::End(Nanos now, const Error& error) {
  Explain(now, GpuCaptureState::kEnded, "the GPU is not recorded any more", error);
}

void GpuStatus::TakeSilence(Nanos now, GpuSilence::State silence) {
  const bool sees_none = silence != GpuSilence::State::kNone;
  if (sees_none && is_recording()) {
    accounting_.state = GpuCaptureState::kNoKernels;
    accounting_.reason = Reason::kNoKernelsSeen;
    accounting_.message = accounting_.kernels + accounting_.invalid == 0
                              ? "calls that launch kernels or graphs were seen, but no kernel"
                              : "calls that launch kernels or graphs were seen, but no kernel of the latest ones";
  } else if (!sees_none && sees_no_kernels()) {
    accounting_.state = GpuCaptureState::kRecording;
    accounting_.reason = Reason::kUnspecified;
    accounting_.message.clear();
  }
  if (sees_no_kernels()) {
    ReportSilence(now, silence);
  }
}

void GpuStatus::ReportSilence(Nanos now, GpuSilence::State silence) {
  if (silence <= reported_silence_) {
    return;
  }
  reported_silence_ = silence;
  const bool is_certain = silence == GpuSilence::State::kCertain;
  const bool has_begun = accounting_.kernels + accounting_.invalid > 0;
  writer_.AddNotice(
      now, fmt::format("process {} launches kernels or graphs{}, but CUPTI reports no kernel{}: {}its tracing may be "
                       "broken until the process ends (by a second tool, or an earlier session of a profiler)",
                       pid_.value, is_certain ? " and waits for them" : "", has_begun ? " any more" : "",
                       is_certain ? "" : "a kernel may run very long, a graph may still be in capture, or "));
}

}  // namespace ptrace_prof

#include "daemon/collector/loop/capture.h"

#include <memory>
#include <optional>
#include <utility>

#include "attach/proc/access_diagnosis.h"
#include "attach/proc/check_threads.h"
#include "attach/ptrace/held_start.h"
#include "daemon/collector/calls/call_source.h"
#include "daemon/collector/calls/sampled_instead.h"
#include "daemon/collector/gpu/gpu_capture.h"
#include "daemon/collector/loop/capture_loop.h"
#include "daemon/collector/sample/sampling_source.h"
#include "daemon/collector/target/patient_open.h"
#include "daemon/collector/torch/torch_capture.h"

namespace ptrace_prof {
namespace {

constexpr int kArmingTries = 5;

// The sources beside the one of stacks, by what the request names.
CaptureLoop::MakeOthers OthersBeside(GpuStackKind stacks, const TorchCapture::RecordedAt& recorded_at = {}) {
  return [stacks, recorded_at](const RecordedProcess& process, const CaptureContext& context) {
    CaptureLoop::Sources others;
    if (HasGpu(context.request.spec())) {
      others.push_back(std::make_unique<GpuCapture>(process, stacks, context));
    }
    if (RecordsTorch(context.request)) {
      others.push_back(std::make_unique<TorchCapture>(process, context, recorded_at));
    }
    return others;
  };
}

Result<void> RunSamples(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop,
                        const CaptureAids& aids) {
  CaptureLoop loop(request, sink, stop, aids);
  SamplingSource samples(loop.context(), stop, aids.stop_sharers);
  return loop.Run(samples, OthersBeside(GpuStackKind::kSampled));
}

// `refusal`: set if calls cannot be traced, or not without harm, and samples may be taken instead. Then nothing was
// written and the result is kOk. Null: there is no other way.
Result<void> RunCalls(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop,
                      const CaptureAids& aids, std::optional<Error>* refusal) {
  Result<void> ran;
  bool has_raced = true;
  bool has_written = false;
  for (int left = kArmingTries; left > 0 && has_raced; --left) {
    CaptureLoop loop(request, sink, stop, aids);
    CallSource calls(loop.context(), stop, refusal == nullptr);
    const bool has_plan = request.spec().trace().steps() > 0 || request.spec().trace().has_schedule();
    const auto recorded_at = [&calls](Nanos when) { return calls.IsRecorded(when); };
    ran = loop.Run(calls, OthersBeside(GpuStackKind::kTraced,
                                       has_plan ? TorchCapture::RecordedAt(recorded_at) : TorchCapture::RecordedAt()));
    has_raced = calls.arming_raced();
    has_written = loop.has_begun();
  }
  LetStartGo();  // a program that we started must not stay held, whatever happened
  const bool is_final = ran.has_value() || has_written || refusal == nullptr || ran.error().code == Code::kGone ||
                        ran.error().code == Code::kCancelled;
  if (is_final) {
    return ran;
  }
  *refusal = std::move(ran).error();
  return {};
}

}  // namespace

Result<void> RunCapture(const CaptureTask& request, ByteSink& sink, const std::atomic<bool>& stop,
                        const CaptureAids& aids) {
  PP_RETURN_IF_ERROR(OpenPatiently(TargetOf(request), [&] { return CheckTarget(TargetOf(request)); }));
  PP_RETURN_IF_ERROR(
      CheckThreads(TargetOf(request), ThreadsOf(request),
                   request.spec().sample().no_subprocesses() ? Descendants::kLeftOut : Descendants::kToo));
  if (!MayTrace(request.spec().mode())) {
    return RunSamples(request, sink, stop, aids);
  }
  CaptureTask traced = request;
  traced.mutable_spec()->set_mode(v1::MODE_TRACE);
  std::optional<Error> refusal;
  const bool has_other_way = request.spec().mode() == v1::MODE_AUTO;
  Result<void> ran = RunCalls(traced, sink, stop, aids, has_other_way ? &refusal : nullptr);
  return refusal.has_value() ? RunSamples(AsSamples(request, *refusal), sink, stop, aids) : ran;
}

}  // namespace ptrace_prof

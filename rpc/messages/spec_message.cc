#include "rpc/messages/spec_message.h"

#include <google/protobuf/util/time_util.h>

#include "rpc/messages/idle_policy_message.h"

namespace ptrace_prof {

namespace v1 = ptraceprof::v1;

namespace {

void FillSteps(const CallTraceOptions& options, v1::TraceOptions* out) {
  out->set_steps(options.steps);
  if (!options.schedule) {
    return;
  }
  v1::StepSchedule& schedule = *out->mutable_schedule();
  schedule.set_skip_first(options.schedule->skip_first);
  schedule.set_wait(options.schedule->wait);
  schedule.set_warmup(options.schedule->warmup);
  schedule.set_active(options.schedule->active);
  schedule.set_repeat(options.schedule->repeat);
}

v1::GpuDetail ToMessage(GpuCaptureDetail detail) {
  switch (detail) {
    case GpuCaptureDetail::kOff: return v1::GPU_DETAIL_UNSPECIFIED;
    case GpuCaptureDetail::kCoarse: return v1::GPU_DETAIL_COARSE;
    case GpuCaptureDetail::kDefault: return v1::GPU_DETAIL_DEFAULT;
    case GpuCaptureDetail::kFull: return v1::GPU_DETAIL_FULL;
  }
  return v1::GPU_DETAIL_UNSPECIFIED;
}

v1::OnFull ToMessage(OnFull on_full) {
  switch (on_full) {
    case OnFull::kDrop: return v1::ON_FULL_DROP;
    case OnFull::kStop: return v1::ON_FULL_STOP;
    case OnFull::kThrottle: return v1::ON_FULL_THROTTLE;
  }
  return v1::ON_FULL_UNSPECIFIED;
}

v1::GpuCounters ToMessage(GpuCounters counters) {
  switch (counters) {
    case GpuCounters::kAuto: return v1::GPU_COUNTERS_AUTO;
    case GpuCounters::kOn: return v1::GPU_COUNTERS_ON;
    case GpuCounters::kOff: return v1::GPU_COUNTERS_OFF;
  }
  return v1::GPU_COUNTERS_UNSPECIFIED;
}

}  // namespace

v1::Mode ToMessage(CaptureMode mode) {
  switch (mode) {
    case CaptureMode::kSample: return v1::MODE_SAMPLE;
    case CaptureMode::kTrace: return v1::MODE_TRACE;
    case CaptureMode::kAuto: return v1::MODE_AUTO;
  }
  return v1::MODE_UNSPECIFIED;
}

void FillSpec(const CaptureRequest& request, v1::CaptureSpec* out) {
  out->mutable_target()->set_pid(request.pid.value);
  out->mutable_target()->set_start_time_ticks(request.start_ticks);
  out->set_mode(ToMessage(request.mode));
  out->set_gpu_counters(ToMessage(request.gpu_counters));
  out->set_gpu(ToMessage(request.gpu));
  out->set_force(request.force);
  if (request.mode != CaptureMode::kSample) {
    out->mutable_trace()->set_c_calls(request.trace.c_calls);
    out->mutable_trace()->set_buffer_bytes(request.trace.buffer_bytes);
    out->mutable_trace()->set_max_overhead(request.trace.max_overhead);
    out->mutable_trace()->set_no_overhead_limit(request.mode == CaptureMode::kAuto && request.trace.max_overhead == 0);
    out->mutable_trace()->mutable_filter()->Assign(request.trace.filter.begin(), request.trace.filter.end());
    out->mutable_trace()->mutable_exclude()->Assign(request.trace.exclude.begin(), request.trace.exclude.end());
    *out->mutable_trace()->mutable_min_duration() =
        google::protobuf::util::TimeUtil::NanosecondsToDuration(request.trace.min_duration.value);
    out->mutable_trace()->set_on_full(ToMessage(request.trace.on_full));
    FillSteps(request.trace, out->mutable_trace());
  }
  if (request.duration.value > 0) {
    *out->mutable_duration() = google::protobuf::util::TimeUtil::NanosecondsToDuration(request.duration.value);
  }
  v1::SampleOptions& sample = *out->mutable_sample();
  sample.set_max_depth(request.max_depth);
  sample.set_no_subprocesses(!request.subprocesses);
  sample.set_wait_for_python(request.wait_for_python);
  if (request.mode == CaptureMode::kTrace) {
    return;  // the rest is about samples
  }
  sample.set_rate_hz(request.rate_hz);
  sample.set_as_fast_as_possible(request.rate_hz == 0);
  if (request.max_overhead > 0) {
    sample.set_max_overhead(request.max_overhead);
  }
  sample.set_no_overhead_limit(request.max_overhead == 0);
  sample.set_idle(ToMessage(request.idle));
  for (const Tid tid : request.threads) {
    sample.add_threads(tid.value);
  }
  sample.set_gil_only(request.gil_only);
  sample.set_blocking(request.stops == StopPolicy::kAll);
  sample.set_nonblocking(request.stops == StopPolicy::kNone);
  if (request.max_stopped > 0) {
    sample.set_max_stopped(request.max_stopped);
  }
  sample.set_no_stopped_limit(request.max_stopped == 0);
}

void FillDumpRequest(const CaptureRequest& request, v1::DumpStacksRequest* out) {
  out->mutable_target()->set_pid(request.pid.value);
  out->mutable_target()->set_start_time_ticks(request.start_ticks);
  out->set_no_subprocesses(!request.subprocesses);
  out->set_locals(request.locals);
  out->set_blocking(request.stops == StopPolicy::kAll);
  out->set_nonblocking(request.stops == StopPolicy::kNone);
  out->set_max_depth(request.max_depth);
}

}  // namespace ptrace_prof

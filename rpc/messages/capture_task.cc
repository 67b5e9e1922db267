#include "rpc/messages/capture_task.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

}  // namespace

Nanos ToNanos(const google::protobuf::Duration& duration) {
  return Nanos(duration.seconds() * kNanosPerSecond + duration.nanos());
}

void SetNanos(Nanos time, google::protobuf::Duration* out) {
  out->set_seconds(time.value / kNanosPerSecond);
  out->set_nanos(static_cast<int32_t>(time.value % kNanosPerSecond));
}

bool IsPrintable(const CaptureTask& task) {
  return task.sampled_because().size() <= kMaxSentence &&
         std::ranges::none_of(task.sampled_because(), [](char c) { return c >= 0 && c < ' '; });
}

void SetTarget(Pid pid, CaptureTask* task) {
  if (pid.value == 0) {
    task->mutable_spec()->clear_target();
  } else {
    task->mutable_spec()->mutable_target()->set_pid(pid.value);
  }
}

std::vector<Tid> ThreadsOf(const CaptureTask& task) {
  const auto& ids = task.spec().sample().threads();
  return {ids.begin(), ids.end()};
}

StopPolicy StopsOf(const v1::SampleOptions& sample) {
  if (sample.blocking()) {
    return StopPolicy::kAll;
  }
  // With stops at that rate the target would never run.
  return sample.nonblocking() || sample.as_fast_as_possible() ? StopPolicy::kNone : StopPolicy::kBrief;
}

uint32_t DepthOf(const CaptureTask& task) {
  constexpr uint32_t kOfTraces = 32'768;
  const uint32_t depth = task.spec().sample().max_depth();
  return task.spec().mode() == v1::MODE_TRACE ? std::max(depth, kOfTraces) : depth;
}

}  // namespace ptrace_prof

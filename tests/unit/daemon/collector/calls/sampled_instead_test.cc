#include "daemon/collector/calls/sampled_instead.h"

#include <gtest/gtest.h>

#include "rpc/messages/capture_task.h"
#include "rpc/messages/task_word.h"

namespace ptrace_prof {
namespace {

CaptureTask Auto() {
  CaptureTask request;
  SetTarget(Pid(4711), &request);
  request.mutable_spec()->set_mode(v1::MODE_AUTO);
  SetNanos(Nanos(5), request.mutable_longest());
  return request;
}

std::string BecauseOf(const std::string& message, uint64_t steps = 0) {
  CaptureTask request = Auto();
  request.mutable_spec()->mutable_trace()->set_steps(steps);
  const CaptureTask samples = AsSamples(request, Error{Code::kUnavailable, message, "a remedy"});
  EXPECT_EQ(samples.spec().mode(), v1::MODE_SAMPLE);
  EXPECT_EQ(DurationOf(samples), Nanos(5));
  EXPECT_TRUE(DecodeTask(EncodeTask(samples)).has_value()) << samples.sampled_because();
  return samples.sampled_because();
}

TEST(SampledInstead, SaysWhy) {
  EXPECT_EQ(BecauseOf("process 4711 is stopped"), "process 4711 is stopped");
  EXPECT_EQ(BecauseOf("process 4711 is stopped", 3),
            "process 4711 is stopped; samples do not count steps: the time limit applies");
}

TEST(SampledInstead, SaysNothingRatherThanHalfASentence) {
  EXPECT_EQ(BecauseOf(""), "");
  EXPECT_EQ(BecauseOf("  "), "");
  EXPECT_EQ(BecauseOf("", 3), "samples do not count steps: the time limit applies");
}

TEST(SampledInstead, FitsWhateverTheTargetIsCalled) {
  std::string name;
  while (name.size() < 4 * kMaxSentence) {
    name += "\xF0\x9F\x90\x8D";
  }
  EXPECT_LE(BecauseOf(name, 3).size(), kMaxSentence);
}

}  // namespace
}  // namespace ptrace_prof

#include <gtest/gtest.h>

#include "daemon/collect/sampled_instead.h"
#include "daemon/trace/capture_request.h"

namespace ptrace_prof {
namespace {

CaptureRequest Auto() {
  CaptureRequest request;
  request.pid = Pid(4711);
  request.mode = CaptureMode::kAuto;
  request.trace.longest = Nanos(5);
  return request;
}

std::string BecauseOf(const std::string& message, uint64_t steps = 0) {
  CaptureRequest request = Auto();
  request.trace.steps = steps;
  const CaptureRequest samples = AsSamples(request, Error{Code::kUnavailable, message, "a remedy"});
  EXPECT_EQ(samples.mode, CaptureMode::kSample);
  EXPECT_EQ(samples.duration, Nanos(5));
  EXPECT_TRUE(DecodeRequest(EncodeRequest(samples)).has_value()) << samples.sampled_because;
  return samples.sampled_because;
}

TEST(SampledInstead, SaysWhy) {
  EXPECT_EQ(BecauseOf("process 4711 is stopped"), "process 4711 is stopped");
  EXPECT_EQ(BecauseOf("process 4711 is stopped", 3),
            "process 4711 is stopped; without calls there are no steps: it goes by time");
}

TEST(SampledInstead, SaysNothingRatherThanHalfASentence) {
  EXPECT_EQ(BecauseOf(""), "");
  EXPECT_EQ(BecauseOf("  "), "");
  EXPECT_EQ(BecauseOf("", 3), "without calls there are no steps: it goes by time");
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

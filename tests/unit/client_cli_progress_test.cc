#include <gtest/gtest.h>

#include "client/cli/progress.h"

namespace ptrace_prof {
namespace {

TEST(ChoiceText, SaysItsReasonOrNone) {
  CaptureRequest request;
  request.mode = CaptureMode::kTrace;
  EXPECT_EQ(ChoiceText(request), "tracing every call");
  request.mode = CaptureMode::kSample;
  EXPECT_EQ(ChoiceText(request), "sampling, not tracing");
  request.sampled_because = "process 4711 is stopped";
  EXPECT_EQ(ChoiceText(request), "sampling, not tracing: process 4711 is stopped");
}

}  // namespace
}  // namespace ptrace_prof

#include "client/cli/record/progress.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

TEST(ChoiceText, SaysItsReasonOrNone) {
  CaptureTask request;
  request.mutable_spec()->set_mode(v1::MODE_TRACE);
  EXPECT_EQ(ChoiceText(request), "tracing every call");
  request.mutable_spec()->set_mode(v1::MODE_SAMPLE);
  EXPECT_EQ(ChoiceText(request), "sampling, not tracing");
  request.set_sampled_because("process 4711 is stopped");
  EXPECT_EQ(ChoiceText(request), "sampling, not tracing: process 4711 is stopped");
}

}  // namespace
}  // namespace ptrace_prof

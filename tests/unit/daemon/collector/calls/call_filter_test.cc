#include "daemon/collector/calls/call_filter.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

Frame Function(std::string name, std::string file) {
  Frame frame;
  frame.function = std::move(name);
  frame.file = std::move(file);
  return frame;
}

Frame Linear() { return Function("Linear.forward", "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py"); }

bool IsExcluded(const std::string& glob, const Frame& frame) {
  v1::TraceOptions options;
  options.add_exclude(glob);
  return CallFilter(options).Weigh(frame) != kShown;
}

TEST(CallFilter, MatchesNameModuleAndFile) {
  for (const char* glob :
       {"Linear.forward", "*.forward", "torch.nn.modules.linear", "torch.*", "linear", "modules.linear.Linear.forward",
        "torch.nn.*.Linear.*", "linear.py", "nn/modules/*", "/usr/lib/*/linear.py", "*"}) {
    EXPECT_TRUE(IsExcluded(glob, Linear())) << glob;
  }
  for (const char* glob : {"forward", "Linear", "torch", "torch/nn", "odules.linear", "inear.py", "nn"}) {
    EXPECT_FALSE(IsExcluded(glob, Linear())) << glob;
  }
}

TEST(CallFilter, ModulesOfOddFiles) {
  EXPECT_TRUE(IsExcluded("torch.optim", Function("f", "/x/torch/optim/__init__.py")));
  EXPECT_TRUE(IsExcluded("importlib._bootstrap.*", Function("f", "<frozen importlib._bootstrap>")));
  EXPECT_TRUE(IsExcluded("<string>", Function("f", "<string>")));
  EXPECT_FALSE(IsExcluded("string", Function("f", "<string>")));
  EXPECT_TRUE(IsExcluded("train", Function("f", "train.py")));
  EXPECT_TRUE(IsExcluded("f", Function("f", "")));
  EXPECT_FALSE(IsExcluded("", Function("f", "a.d/f")));  // not a pattern
}

TEST(CallFilter, ExcludeWins) {
  v1::TraceOptions options;
  options.add_filter("torch.*");
  options.add_filter("nosuch");
  options.add_exclude("*.forward");
  options.add_exclude("linear");
  CallFilter filter(options);
  const LeftOutBy excluded = filter.Weigh(Linear());
  EXPECT_NE(excluded, kShown);
  EXPECT_EQ(filter.Weigh(Function("Linear.reset", "/torch/nn/init.py")), kShown);
  const LeftOutBy other = filter.Weigh(Function("main", "/srv/train.py"));
  EXPECT_NE(other, kShown);
  EXPECT_NE(other, excluded);
  filter.CountCall(excluded);
  filter.CountCall(other);
  filter.CountCall(other);
  filter.CountCall(kShown);
  filter.CountCall(kNoCall);
  filter.NoteSwitchedOff(other);
  filter.Weigh(Linear());  // again: it does not count as a second function
  EXPECT_EQ(filter.rows(), (std::vector<LeftOut>{{LeftOutCause::kExcluded, "*.forward", 1, 1, false},
                                                 {LeftOutCause::kExcluded, "linear", 1, 0, false},
                                                 {LeftOutCause::kFilter, "torch.*", 1, 0, false},
                                                 {LeftOutCause::kFilter, "nosuch", 0, 0, false},
                                                 {LeftOutCause::kNotFiltered, "", 1, 2, true}}));
}

TEST(CallFilter, WhatIsNotPythonHasItsName) {
  Frame sleep = Function("time.sleep", "");
  sleep.kind = FrameKind::kC;
  EXPECT_TRUE(IsExcluded("time.*", sleep));
  v1::TraceOptions options;
  options.add_filter("train.*");
  EXPECT_EQ(CallFilter(options).Weigh(sleep), kShown);
}

}  // namespace
}  // namespace ptrace_prof

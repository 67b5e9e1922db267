// For which thread's backward pass the autograd engine runs.
#include "daemon/collector/gpu/gpu_engine_wait.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ptrace_prof {
namespace {

class GpuEngineWaitTest : public testing::Test {
 protected:
  StackId Stack(const std::vector<std::string>& functions) {
    StackId stack = kEmptyStack;
    for (const std::string& function : functions) {
      Frame frame;
      frame.function = function;
      stack = stacks.InternStack(stack, stacks.InternFrame(frame));
    }
    return stack;
  }
  StackTable stacks;
  const StackId other = Stack({"main", "load"});
  const StackId one = Stack({"main", "train", "torch.autograd.graph._engine_run_backward", "run_backward"});
  const StackId deeper = Stack({"main", "train", "torch.autograd.graph._engine_run_backward"});
  const StackId elsewhere = Stack({"main", "validate", "torch.autograd.graph._engine_run_backward", "run_backward"});
};

TEST_F(GpuEngineWaitTest, ItIsThatOfTheOneThatWaits) {
  GpuEngineWait wait(stacks);
  wait.Look(other);
  EXPECT_EQ(wait.stack(), kEmptyStack);
  wait.Look(one);
  wait.Look(other);
  EXPECT_EQ(wait.stack(), one);
  EXPECT_FALSE(wait.is_ambiguous());
}

TEST_F(GpuEngineWaitTest, OfTwoAtOnePlaceEitherWillDo) {
  GpuEngineWait wait(stacks);
  wait.Look(one);
  wait.Look(deeper);
  GpuEngineWait again(stacks);
  again.Look(deeper);
  again.Look(one);
  EXPECT_FALSE(wait.is_ambiguous());
  EXPECT_EQ(wait.stack(), again.stack()) << "whatever the order of the threads";
  EXPECT_NE(wait.stack(), kEmptyStack);
}

TEST_F(GpuEngineWaitTest, OfTwoAtDifferentPlacesItIsNone) {
  GpuEngineWait wait(stacks);
  wait.Look(one);
  wait.Look(elsewhere);
  wait.Look(one);
  EXPECT_TRUE(wait.is_ambiguous());
  EXPECT_EQ(wait.stack(), kEmptyStack);
}

}  // namespace
}  // namespace ptrace_prof

#include "attach/base/started_thread.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "tests/unit/in_child.h"
#include "tests/unit/no_thread.h"

namespace ptrace_prof {
namespace {

TEST(StartThread, RunsItsBody) {
  bool has_run = false;
  auto thread = StartThread([&] { has_run = true; });
  ASSERT_TRUE(thread.has_value());
  thread.value().join();
  EXPECT_TRUE(has_run);
}

TEST(StartThread, SaysThatThereIsNoneToBeHad) {
  EXPECT_EQ(InChild([] {
              if (!AllowNoThread()) {
                return 2;
              }
              const auto thread = StartThread([] {});
              return thread.has_error() && thread.error().reason == Reason::kOutOfResources &&
                             thread.error().code == Code::kResourceExhausted
                         ? 0
                         : 1;
            }),
            0);
}

TEST(Attempt, TurnsWhatIsThrownIntoAnError) {
  EXPECT_TRUE(Attempt([] {}).has_value());
  EXPECT_EQ(Attempt([] { throw std::bad_alloc(); }).error().reason, Reason::kOutOfResources);
  EXPECT_EQ(Attempt([] { throw std::runtime_error("so it is"); }).error().message, "so it is");
}

}  // namespace
}  // namespace ptrace_prof

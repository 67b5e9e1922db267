#include <gtest/gtest.h>
#include <unistd.h>

#include "attach/proc/user_namespace.h"

namespace ptrace_prof {
namespace {

TEST(UserNamespace, OursIsOurs) {
  if (::access("/proc/self/ns/user", F_OK) != 0) {
    GTEST_SKIP() << "a kernel without user namespaces";
  }
  EXPECT_EQ(InOurUserNamespace(Pid(::getpid())), true);
}

TEST(UserNamespace, OfNobodyNothingIsSaid) { EXPECT_EQ(InOurUserNamespace(Pid(0x7fffffff)), std::nullopt); }

TEST(UserNamespace, WhoHasNoNumberHereIsNotRoot) { EXPECT_NE(OverflowUid(), Uid(0)); }

}  // namespace
}  // namespace ptrace_prof

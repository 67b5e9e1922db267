#include "attach/proc/own_namespaces.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace ptrace_prof {
namespace {

TEST(OwnNamespaces, OursAreOurs) {
  if (::access("/proc/self/ns/user", F_OK) != 0) {
    GTEST_SKIP() << "a kernel without user namespaces";
  }
  EXPECT_EQ(InOurUserNamespace(Pid(::getpid())), true);
  EXPECT_EQ(InOurPidNamespace(Pid(::getpid())), true);
}

TEST(OwnNamespaces, OfNobodyNothingIsSaid) {
  EXPECT_EQ(InOurUserNamespace(Pid(0x7fffffff)), std::nullopt);
  EXPECT_EQ(InOurPidNamespace(Pid(0x7fffffff)), std::nullopt);
}

TEST(OwnNamespaces, WhoHasNoNumberHereIsNotRoot) { EXPECT_NE(OverflowUid(), Uid(0)); }

}  // namespace
}  // namespace ptrace_prof

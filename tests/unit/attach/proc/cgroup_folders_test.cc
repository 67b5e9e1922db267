#include "attach/proc/cgroup_folders.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "attach/proc/memory_group.h"

namespace ptrace_prof {
namespace {

std::string Reported(std::string_view text, std::string_view controller) {
  std::string reported;
  for (const CgroupFolder& one : ParseCgroupFolders(text, controller)) {
    reported += one.mount + " " + one.path + (one.is_second ? " 2\n" : " 1\n");
  }
  return reported;
}

TEST(CgroupFolders, AreThoseOfBothVersions) {
  constexpr std::string_view kBoth = "12:cpu,memory:/jobs/7\n3:freezer:/\n0::/user.slice\n";
  EXPECT_EQ(Reported(kBoth, "memory"),
            "/sys/fs/cgroup/memory /jobs/7 1\n/sys/fs/cgroup /user.slice 2\n/sys/fs/cgroup/unified /user.slice 2\n");
  EXPECT_EQ(Reported("3:freezer:/\n", "freezer"), "/sys/fs/cgroup/freezer / 1\n");
  EXPECT_EQ(Reported("3:freezer:/\n", "memory"), "");
}

TEST(CgroupFolders, WhatIsOutsideOrNoLineIsLeftOut) {
  for (const std::string_view text : {"0::/../../other\n", "0::\n", "0:memory", "memory:/jobs", ""}) {
    EXPECT_EQ(Reported(text, "memory"), "") << text;
  }
}

TEST(MemoryGroup, OursIsOurs) {
  EXPECT_TRUE(SharesMemoryGroup(Pid(::getpid())));
  EXPECT_FALSE(GroupMemoryOf(Pid(0x7fffffff)).has_value());
}

}  // namespace
}  // namespace ptrace_prof

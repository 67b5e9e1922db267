#include "attach/proc/process_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kText =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max file size             16384                unlimited            bytes     \n"
    "Max file size of others   1                    2                    bytes     \n"
    "Max open files            soon                 4                    files     \n"
    "Max processes             ";

TEST(ProcessLimits, AreRead) {
  EXPECT_EQ(ParseSoftLimit(kText, "Max file size"), uint64_t{16384});
  EXPECT_EQ(ParseSoftLimit(kText, "Max cpu time"), UINT64_MAX);
}

TEST(ProcessLimits, WhatIsNotSaidIsNotKnown) {
  for (const std::string_view name : {"Max", "Max open files", "Max processes", "Max stack size"}) {
    EXPECT_EQ(ParseSoftLimit(kText, name), std::nullopt) << name;
  }
  EXPECT_EQ(ParseSoftLimit("", "Max file size"), std::nullopt);
}

TEST(ProcessLimits, OfOurselvesAreOurs) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto text = ReadProcFile(ProcPath(Pid(::getpid()), "limits"));
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(ParseSoftLimit(text.value(), kFileSizeLimit), limit.rlim_cur);
}

}  // namespace
}  // namespace ptrace_prof

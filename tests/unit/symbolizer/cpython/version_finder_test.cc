#include "symbolizer/cpython/version_finder.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

std::string Shown(std::optional<PythonVersion> version) { return version ? ToString(*version) : "none"; }

TEST(ParseVersionText, TakesTheFormOfSysVersion) {
  EXPECT_EQ(Shown(ParseVersionText("3.8.18 (default, Nov 1 2026, 00:00:00) \n[GCC 12.2.0]")), "3.8.18");
  EXPECT_EQ(Shown(ParseVersionText("3.11.2 (main")), "3.11.2");
  EXPECT_EQ(Shown(ParseVersionText("2.7.18 (default")), "2.7.18");
  EXPECT_EQ(Shown(ParseVersionText("3.12.0rc3 (main")), "3.12.0rc3");
  EXPECT_EQ(Shown(ParseVersionText("3.12.0b1+ (heads/main")), "3.12.0b1");
  EXPECT_EQ(Shown(ParseVersionText("3.10.4+ (main")), "3.10.4");
}

TEST(ParseVersionText, RefusesOtherText) {
  for (const char* text : {"", "3", "3.", "3.8", "3.8.18", "3.8.18(", "3.8.18 default", "3.8.256 (x", "a.b.c (d",
                           "3.-8.1 (x", "3.8.1x (main"}) {
    EXPECT_EQ(Shown(ParseVersionText(text)), "none") << text;
  }
}

TEST(ParseVersionInName, TakesTheNamesOfBinaries) {
  EXPECT_EQ(Shown(ParseVersionInName("/usr/lib/libpython3.8.so.1.0")), "3.8.0");
  EXPECT_EQ(Shown(ParseVersionInName("/usr/bin/python3.11")), "3.11.0");
  EXPECT_EQ(Shown(ParseVersionInName("/opt/python3.9/bin/libpython3.12d.so")), "3.12.0");
  EXPECT_EQ(Shown(ParseVersionInName("libpython2.7.so.1.0")), "2.7.0");
  for (const char* path : {"", "/usr/bin/python3", "/opt/python3.9/bin/foo", "python.so", "/bin/python3.999"}) {
    EXPECT_EQ(Shown(ParseVersionInName(path)), "none") << path;
  }
}

}  // namespace
}  // namespace ptrace_prof

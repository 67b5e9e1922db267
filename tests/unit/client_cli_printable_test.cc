#include <gtest/gtest.h>

#include "client/cli/printable.h"

namespace ptrace_prof {
namespace {

TEST(Printable, LeavesTextAlone) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("model.py:12 <module> ~"), "model.py:12 <module> ~");
  EXPECT_EQ(Printable("кириллица 日本語 🐍"), "кириллица 日本語 🐍");
}

TEST(Printable, DisarmsControlCharacters) {
  EXPECT_EQ(Printable("a\x1b[2Jb"), "a?[2Jb");
  EXPECT_EQ(Printable("a\nb\tc\rd\x7f"), "a?b?c?d?");
  EXPECT_EQ(Printable(std::string_view("\0x", 2)), "?x");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "??31m")
      << "the one-character form of ESC [";
}

TEST(Printable, ReplacesMalformedUtf8) {
  EXPECT_EQ(Printable("\x80"), "?");
  EXPECT_EQ(Printable("\xc3"), "?");
  EXPECT_EQ(Printable("\xe2\x82"), "??");
  EXPECT_EQ(Printable("\xc0\xaf"), "??") << "overlong";
  EXPECT_EQ(Printable("\xe0\x80\xaf"), "???") << "overlong";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "????") << "beyond Unicode";
  EXPECT_EQ(Printable("\xf5\x80\x80\x80"), "????");
}

}  // namespace
}  // namespace ptrace_prof

#include "attach/base/hexadecimal.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

TEST(Hexadecimal, IsTwoDigitsForEachByte) {
  EXPECT_EQ(ToHexadecimal(std::string("\x00\x7f\x80\xff", 4)), "007f80ff");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  EXPECT_EQ(FromHexadecimal(ToHexadecimal(all)), all);
  EXPECT_EQ(FromHexadecimal("6A6b"), "jk");
  EXPECT_EQ(FromHexadecimal(""), "");
}

TEST(Hexadecimal, IsNothingElse) {
  for (const char* text : {"6", "6a6", "6g", "g6", " 6a", "0x6a", "-1", "+1"}) {
    EXPECT_EQ(FromHexadecimal(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace ptrace_prof

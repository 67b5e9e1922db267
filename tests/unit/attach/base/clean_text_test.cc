// Foreign bytes as text: visible characters stay, all others are escaped.
#include "attach/base/clean_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

std::string Utf8(uint32_t point) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    return {static_cast<char>(point)};
  }
  if (point < 0x800) {
    return {static_cast<char>(0xC0 | point >> 6), tail(0)};
  }
  if (point < 0x10000) {
    return {static_cast<char>(0xE0 | point >> 12), tail(6), tail(0)};
  }
  return {static_cast<char>(0xF0 | point >> 18), tail(12), tail(6), tail(0)};
}

TEST(CleanText, LeavesAloneWhatCanBeSeen) {
  for (const char* text : {"", "model.py:12 <module> ~", "plain <ünïcode> 漢字 🙂", "кириллица 日本語 🐍",
                           "שלום عربى", "می\u200cخواهم 👩\u200d🔬", "C:\\new\\u202e", "\uFFFD"}) {
    EXPECT_EQ(CleanText(text), text);
  }
}

TEST(CleanText, WritesOutControlCharacters) {
  EXPECT_EQ(CleanText("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(CleanText("a\nb\tc\rd\x7f"), "a\\x0ab\\x09c\\x0dd\\x7f");
  EXPECT_EQ(CleanText(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(CleanText("\u009b31m"), "\\x9b31m") << "the one-character form of ESC [";
}

TEST(CleanText, WritesOutWhatIsInvisibleOrTurnsTheText) {
  constexpr uint32_t kSome[] = {0x61C,  0x180E, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202B,
                                0x202C, 0x202D, 0x202E, 0x2060, 0x2064, 0x2066, 0x2067, 0x2068, 0x2069,
                                0x206F, 0xFDD0, 0xFEFF, 0xFFF9, 0xFFFB, 0xFFFE, 0xFFFF};
  for (const uint32_t point : kSome) {
    EXPECT_EQ(CleanText("a" + Utf8(point) + "b"), fmt::format("a\\u{:04x}b", point));
  }
  for (const uint32_t point : {0xE0001u, 0xE0041u, 0x1FFFEu, 0x10FFFFu}) {
    EXPECT_EQ(CleanText(Utf8(point)), fmt::format("\\U{:08x}", point));
  }
}

TEST(CleanText, WritesOutEachByteOfWhatIsNoUtf8) {
  EXPECT_EQ(CleanText("\x80"), "\\x80");
  EXPECT_EQ(CleanText("\xc3"), "\\xc3");
  EXPECT_EQ(CleanText("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(CleanText("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(CleanText("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "overlong";
  EXPECT_EQ(CleanText("\xf0\x80\x80\xaf"), "\\xf0\\x80\\x80\\xaf") << "overlong";
  EXPECT_EQ(CleanText("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(CleanText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
  EXPECT_EQ(CleanText("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
}

TEST(CleanText, LeavesItsOwnResultAlone) {
  for (uint32_t point = 0; point < 0x110000; ++point) {
    const std::string clean = CleanText(Utf8(point));
    ASSERT_EQ(CleanText(clean), clean) << point;
    ASSERT_FALSE(clean.empty()) << point;
  }
}

TEST(Shortened, CutsBetweenCharacters) {
  EXPECT_EQ(Shortened("日本語", 3), "日本語");
  EXPECT_EQ(Shortened("日本語", 2), "日本..");
}

}  // namespace
}  // namespace ptrace_prof

#include "rpc/messages/name_glob.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace ptrace_prof {
namespace {

bool Matches(std::string_view pattern, std::string_view name) {
  return NameGlob::Compile(pattern).value().Matches(name);
}

TEST(NameGlob, Matches) {
  constexpr std::pair<const char*, const char*> kRows[] = {{"f", "f"},
                                                           {"*", ""},
                                                           {"*", "a.b/c"},
                                                           {"torch.*", "torch.nn.modules"},
                                                           {"*.forward", "Linear.forward"},
                                                           {"a*b*c", "aXbXbXc"},
                                                           {"a**c", "ac"},
                                                           {"?", "ж"},
                                                           {"?x", "жx"},
                                                           {"[a-c]_[!x]", "b_y"},
                                                           {"[]]", "]"},
                                                           {"[!]]", "x"},
                                                           {"[a-]", "-"},
                                                           {"[!x]z", "жz"},
                                                           {"\\*", "*"},
                                                           {"\\\\[a]", "\\a"},
                                                           {"<lambda>", "<lambda>"}};
  for (const auto& [pattern, name] : kRows) {
    EXPECT_TRUE(Matches(pattern, name)) << pattern << " " << name;
  }
}

TEST(NameGlob, DoesNotMatch) {
  constexpr std::pair<const char*, const char*> kRows[] = {
      {"f", "ff"},    {"f", ""},      {"?", ""},       {"?", "ab"},  {"torch.*", "torch"},
      {"a*b", "abc"}, {"[a-c]", "d"}, {"[!a-c]", "b"}, {"\\*", "x"}, {"F", "f"}};
  for (const auto& [pattern, name] : kRows) {
    EXPECT_FALSE(Matches(pattern, name)) << pattern << " " << name;
  }
}

TEST(NameGlob, TakesItsTimeInProportion) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) {
    pattern += "*a";
  }
  EXPECT_FALSE(Matches(pattern + "b", std::string(4096, 'a')));
}

TEST(NameGlob, RefusesWhatMakesNoSense) {
  for (const std::string& bad : {std::string(), std::string("[a"), std::string("[]"), std::string("[!]"),
                                 std::string("a\\"), std::string("\\\\["), std::string("a\nb"), std::string("\xff"),
                                 std::string(257, 'a'), std::string(256, '\xaa')}) {
    const auto compiled = NameGlob::Compile(bad);
    ASSERT_TRUE(compiled.has_error()) << bad;
    EXPECT_EQ(compiled.error().code, Code::kInvalidArgument);
    EXPECT_FALSE(compiled.error().remedy.empty());
    EXPECT_LT(compiled.error().message.size(), 400);
  }
}

}  // namespace
}  // namespace ptrace_prof

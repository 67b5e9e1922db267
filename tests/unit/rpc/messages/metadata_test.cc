// What users may say of a recording.
#include "rpc/messages/metadata.h"

#include <gtest/gtest.h>

#include "rpc/messages/check_spec.h"

namespace ptrace_prof {
namespace {

TEST(MetadataTest, KeyAndValue) {
  const std::pair<std::string_view, std::pair<std::string, std::string>> good[] = {
      {"run=base", {"run", "base"}}, {"run=", {"run", ""}}, {"sum=a=b", {"sum", "a=b"}}, {"имя=é", {"имя", "é"}}};
  for (const auto& [text, entry] : good) {
    const auto parsed = ParseMetadata(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.value(), entry);
  }
}

TEST(MetadataTest, WhatIsRefused) {
  const std::string long_key(129, 'k');
  const std::string long_value = "k=" + std::string(2049, 'v');
  for (const std::string_view text :
       {std::string_view("run"), std::string_view("=base"), std::string_view(""), std::string_view("a=\n"),
        std::string_view("a=\xff"), std::string_view("traceEvents=x"), std::string_view("distributedInfo=x"),
        std::string_view(long_key), std::string_view(long_value)}) {
    EXPECT_TRUE(ParseMetadata(text).has_error()) << text;
  }
}

v1::CaptureSpec SpecWith(const std::vector<std::string>& entries) {
  v1::CaptureSpec spec;
  for (const std::string& entry : entries) {
    spec.add_metadata(entry);
  }
  return spec;
}

TEST(MetadataTest, OfARequest) {
  EXPECT_TRUE(CheckSpec(SpecWith({"a=1", "b=2"}), SpecDoor::kFields).has_value());
  EXPECT_EQ(CheckSpec(SpecWith({"a=1", "a=2"}), SpecDoor::kFields).error().message, "metadata: a is given twice");
  EXPECT_EQ(CheckSpec(SpecWith({"a"}), SpecDoor::kCommandLine).error().message, "--meta: 'a' is not KEY=VALUE");
  std::vector<std::string> many;
  for (size_t i = 0; i <= kMostMetadata; ++i) {
    many.push_back("key" + std::to_string(i) + "=v");
  }
  EXPECT_EQ(CheckSpec(SpecWith(many), SpecDoor::kFields).error().message, "metadata is given 65 times");
  many.pop_back();
  EXPECT_TRUE(CheckSpec(SpecWith(many), SpecDoor::kFields).has_value());
}

// A trace may contain anything; what is there already stays.
TEST(MetadataTest, OfATrace) {
  std::map<std::string, std::string> metadata = {{"a", "given"}};
  AddMetadata(SpecWith({"a=1", "b=2", "nonsense", "traceEvents=x"}), metadata);
  EXPECT_EQ(metadata, (std::map<std::string, std::string>{{"a", "given"}, {"b", "2"}}));
}

}  // namespace
}  // namespace ptrace_prof

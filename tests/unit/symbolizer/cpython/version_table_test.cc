// One row for each version of versions.txt, and no row that contradicts itself.
#include "symbolizer/cpython/version_table.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "symbolizer/cpython/debug_offsets_table.h"

namespace ptrace_prof {
namespace {

TEST(VersionTable, HasTheVersionsOfTheList) {
  std::ifstream list(PP_CPYTHON_VERSIONS);
  std::string listed, known;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string version, free_threaded;
    if (words >> version >> free_threaded && version != "#") {
      listed += version + (free_threaded == "-" ? "\n" : " free-threaded\n");
    }
  }
  for (const VersionFacts& facts : SupportedVersions()) {
    known += facts.name() + (facts.has_free_threaded_build() ? " free-threaded\n" : "\n");
  }
  EXPECT_EQ(known, listed);
}

TEST(VersionTable, HasALayoutForEach) {
  for (const VersionFacts& facts : SupportedVersions()) {
    const PythonVersion version{3, facts.minor, 0};
    EXPECT_EQ(DebugOffsetsEntries(version).empty(), !facts.describes_itself) << ToString(version);
    EXPECT_EQ(LayoutFor(version, false).has_value(), !facts.describes_itself) << ToString(version);
    EXPECT_EQ(DescribesItself(version), facts.describes_itself) << ToString(version);
  }
}

TEST(VersionTable, SaysHowCallsAreTracedAndTheTracerComesIn) {
  for (const VersionFacts& facts : SupportedVersions()) {
    const bool has_function = facts.profile_function != kAbsent;
    EXPECT_NE(facts.has_monitoring, has_function) << +facts.minor;
    EXPECT_TRUE(has_function || !facts.slows_every_bytecode()) << +facts.minor;
    EXPECT_TRUE(facts.main_thread_calls) << +facts.minor;
    EXPECT_NE(facts.any_thread_calls.has_value(), facts.evaluator.has_value()) << +facts.minor;
    EXPECT_NE(facts.function_code, kAbsent) << +facts.minor;
  }
}

TEST(VersionTable, NamesVersions) {
  EXPECT_EQ(FirstWith(&VersionFacts::has_monitoring), "3.12");
  EXPECT_EQ(SupportedRange().substr(0, 7), "3.8 to ");
  const auto after_last = static_cast<uint8_t>(SupportedVersions().back().minor + 1);
  EXPECT_EQ(FindFacts({3, 7, 16}), nullptr);
  EXPECT_EQ(FindFacts({2, 12, 0}), nullptr);
  EXPECT_EQ(FindFacts({3, after_last, 0}), nullptr);
  EXPECT_TRUE(DescribesItself({3, after_last, 0}));
  EXPECT_FALSE(FactsOf({3, after_last, 0}).has_monitoring);
}

}  // namespace
}  // namespace ptrace_prof

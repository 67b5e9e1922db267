#include "daemon/server/program/daemon_options.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

ParsedOptions Parse(std::vector<std::string> words) {
  words.insert(words.begin(), "ptrace-profd");
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  return ParseDaemonOptions(static_cast<int>(argv.size()), argv.data());
}

TEST(DaemonOptions, UnderstandUnits) {
  const ParsedOptions parsed =
      Parse({"--socket", "/s", "--spool", "/p", "--max-bytes", "2MB", "--max-duration", "1.5m", "--max-captures", "3"});
  ASSERT_FALSE(parsed.exit_status.has_value());
  EXPECT_EQ(parsed.options.socket, "/s");
  EXPECT_EQ(parsed.options.spool, "/p");
  EXPECT_EQ(parsed.options.limits.bytes, 2u << 20);
  EXPECT_EQ(parsed.options.limits.duration, Nanos::FromSeconds(90));
  EXPECT_EQ(parsed.options.limits.captures_per_user, 3u);
}

TEST(DaemonOptions, HaveDefaults) {
  const ParsedOptions parsed = Parse({"--socket", "/s"});
  ASSERT_FALSE(parsed.exit_status.has_value());
  EXPECT_NE(parsed.options.spool.find("ptrace-prof-spool-"), std::string::npos);
  EXPECT_EQ(parsed.options.limits.duration, Nanos()) << "no limit";
  EXPECT_EQ(parsed.options.limits.bytes, CaptureLimits().bytes);
}

TEST(DaemonOptions, RefuseWhatIsOutOfRange) {
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"--max-captures", "0"}, Words{"--max-bytes", "0"}, Words{"--max-bytes", "-1"},
                             Words{"--max-duration", "-1s"}, Words{"--max-duration", "5 fortnights"}, Words{"extra"}}) {
    EXPECT_EQ(Parse(words).exit_status.value_or(0), 2) << words[0];
  }
}

}  // namespace
}  // namespace ptrace_prof

// Rules that are passed to a collector must judge a process there as they do here.

#include "daemon/server/policy/child_rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "attach/base/hexadecimal.h"
#include "tests/unit/daemon/server/policy/parsed_policy.h"

namespace ptrace_prof {
namespace {

const PolicyCaller kChildsCaller{Uid(1001), Gid(1001), {Gid(50)}};
const TargetFacts kTargets[] = {
    {Uid(1001), "python3", "/opt/conda/bin/python3.11", "0::/user.slice/job_7\n"},
    {Uid(1001), "job-\"1\"\\", "/usr/bin/python3", ""},
    {Uid(1002), "python3", "", "0::/system.slice/ssh.service\n"},
    {Uid(0), "sshd", "/usr/sbin/sshd",
     "0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n"},
};

std::string Rule(std::string_view action, std::string_view condition) {
  static int number = 0;
  return fmt::format("[[rule]]\nname = 'r{}'\naction = '{}'\n{}\n", ++number, action, condition);
}

// The verdicts of the rules on each target.
std::string Verdicts(const Policy& rules, const PolicyCaller& caller) {
  std::string verdicts;
  for (const TargetFacts& target : kTargets) {
    const PolicyVerdict verdict = rules.Judge(caller, target);
    verdicts += (verdict.allowed ? "+" : "-") + verdict.rule + " ";
  }
  return verdicts;
}

TEST(ChildRules, SayOfAProcessWhatThePolicySaysOfItForThatCaller) {
  for (const std::string& text : {
           Rule("deny", "command = 'job-*'"),
           Rule("deny", "owner = [0, 1002]"),
           Rule("allow", "exe = '/usr/*'") + Rule("deny", ""),
           Rule("deny", "container = '*'") + Rule("deny", "cgroup = '/system.slice/*'"),
           Rule("deny", "user = 7\ncommand = '*'") + Rule("allow", "group = 50\ncommand = 'python3'") +
               Rule("deny", ""),
           "default = 'deny'\n" + Rule("allow", "command = ['job-\"?\"\\\\\\\\', 'x']"),
       }) {
    const Policy policy = Parsed(text);
    const auto decoded = DecodeChildRules(EncodeChildRules(policy, kChildsCaller));
    ASSERT_TRUE(decoded.has_value()) << text;
    EXPECT_EQ(Verdicts(decoded.value(), {}), Verdicts(policy, kChildsCaller)) << text;
  }
}

TEST(ChildRules, AreNoneWhereTheCallerIsDeniedNothing) {
  EXPECT_EQ(EncodeChildRules(Parsed(""), kChildsCaller), "");
  EXPECT_EQ(EncodeChildRules(Parsed(Rule("deny", "user = 7")), kChildsCaller), "") << "another's";
  EXPECT_EQ(EncodeChildRules(Parsed(Rule("allow", "user = 1001") + Rule("deny", "")), kChildsCaller), "")
      << "never reached";
  EXPECT_NE(EncodeChildRules(Parsed(Rule("allow", "command = 'x'") + Rule("deny", "")), kChildsCaller), "");
}

TEST(ChildRules, DenyAllWhereTheyAreTooMany) {
  std::string text;
  for (int i = 0; i < 400; ++i) {
    text += Rule("deny", fmt::format("command = '{}{}'", i, std::string(200, 'x')));
  }
  const std::string words = EncodeChildRules(Parsed(text), kChildsCaller);
  EXPECT_LE(words.size(), kMaxChildRules);
  const auto decoded = DecodeChildRules(words);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(Verdicts(decoded.value(), {}), "- - - - ");
}

TEST(ChildRules, OtherWordsAreNone) {
  const std::string good = EncodeChildRules(Parsed(Rule("deny", "command = 'x'")), kChildsCaller);
  ASSERT_TRUE(DecodeChildRules(good).has_value());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(DecodeChildRules(good.substr(0, size)).has_error()) << size;
  }
  for (const std::string& text : {std::string("[]"), std::string(R"({"allows":1,"rules":[]})"),
                                  std::string(R"({"allows":true,"rules":[7]})"), std::string(100'000, '[')}) {
    EXPECT_TRUE(DecodeChildRules(text).has_error()) << text.substr(0, 40);
  }
  EXPECT_TRUE(DecodeChildRules(R"({"allows":true,"rules":[]})").has_value());
}

}  // namespace
}  // namespace ptrace_prof

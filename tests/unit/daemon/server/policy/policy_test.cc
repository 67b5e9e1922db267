// Verdicts of rules on callers and targets: the first rule that fits decides.

#include "daemon/server/policy/policy.h"

#include <gtest/gtest.h>

#include "tests/unit/daemon/server/policy/parsed_policy.h"

namespace ptrace_prof {
namespace {

constexpr char kDocker[] =
    "0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n";

const PolicyCaller kAnn{Uid(1001), Gid(1001), {Gid(50), Gid(2000)}};
const PolicyCaller kBob{Uid(1002), Gid(2000), {}};
const TargetFacts kTraining{Uid(1001), "python3", "/opt/conda/bin/python3.11", "0::/user.slice/job_7\n"};
const TargetFacts kService{Uid(0), "sshd", "/usr/sbin/sshd", "0::/system.slice/ssh.service\n"};
const TargetFacts kContained{Uid(1001), "python3", "/usr/bin/python3", kDocker};

// The rule that decides, with '+' or '-' in front; only the sign for the default.
std::string Decision(std::string_view text, const PolicyCaller& caller, const TargetFacts& target) {
  const PolicyVerdict verdict = Parsed(text).Judge(caller, target);
  return (verdict.allowed ? "+" : "-") + verdict.rule;
}

TEST(PolicyRules, NoneLetsAllPass) {
  EXPECT_EQ(Decision("", kAnn, kService), "+");
  EXPECT_EQ(Decision("default = 'deny'", kAnn, kTraining), "-");
  EXPECT_FALSE(Parsed("").denies_anything());
  EXPECT_TRUE(Parsed("default = 'deny'").denies_anything());
  EXPECT_TRUE(Parsed("[[rule]]\nname = 'x'\naction = 'deny'\nuser = 7").denies_anything());
}

TEST(PolicyRules, TheFirstThatFitsDecides) {
  constexpr char kText[] = R"(
[[rule]]
name = "ann"
action = "allow"
user = 1001
[[rule]]
name = "group"
action = "deny"
group = [7, 2000]
)";
  EXPECT_EQ(Decision(kText, kAnn, kTraining), "+ann");
  EXPECT_EQ(Decision(kText, kBob, kTraining), "-group") << "by the primary group";
  EXPECT_EQ(Decision(kText, {Uid(9), Gid(9), {Gid(2000)}}, kTraining), "-group") << "by another";
  EXPECT_EQ(Decision(kText, {Uid(9), Gid(9), {}}, kTraining), "+");
}

struct RuleCase {
  const char* condition;
  const TargetFacts& target;
  bool fits;
};

TEST(PolicyRules, AreAboutTargets) {
  const RuleCase cases[] = {
      {"owner = 'root'", kService, true},
      {"owner = ['root', 5]", kTraining, false},
      {"command = 'ssh*'", kService, true},
      {"command = ['bash', 'python?']", kTraining, true},
      {"command = 'ython3'", kTraining, false},
      {"exe = '/usr/sbin/*'", kService, true},
      {"exe = '/usr/sbin/*'", kTraining, false},
      {"exe = '/opt/conda/bin/python3.11'", {Uid(1), "x", "/opt/conda/bin/python3.11 (deleted)", ""}, true},
      {"container = '*'", kContained, true},
      {"container = '0123456789ab'", kContained, true},
      {"container = '*'", kTraining, false},
      {"cgroup = '/system.slice/*'", kService, true},
      {"cgroup = '/system.slice/*'", kTraining, false},
      {"cgroup = '/b'", {Uid(1), "x", "/x", "2:cpu:/a\n1:name=systemd:/b"}, true},
      {"owner = 'root'\ncommand = 'python3'", kService, false},
      {"owner = 'root'\ncommand = 'sshd'\nuser = 1001\ngroup = 50", kService, true},
      {"owner = 'root'\ncommand = 'sshd'\nuser = 1001\ngroup = 51", kService, false},
  };
  for (const RuleCase& one : cases) {
    const std::string text = std::string("[[rule]]\nname = 'r'\naction = 'deny'\n") + one.condition;
    EXPECT_EQ(Decision(text, kAnn, one.target), one.fits ? "-r" : "+") << one.condition;
  }
}

TEST(PolicyRules, WhatIsNotKnownIsDenied) {
  const TargetFacts hidden{Uid(1001), "python3", "", ""};
  for (const std::string condition : {"exe = '/x'", "container = 'x'", "cgroup = '/x'"}) {
    EXPECT_EQ(Decision("[[rule]]\nname = 'r'\naction = 'deny'\n" + condition, kAnn, hidden), "-r") << condition;
    EXPECT_EQ(Decision("default = 'deny'\n[[rule]]\nname = 'r'\naction = 'allow'\n" + condition, kAnn, hidden), "-")
        << condition;
  }
}

TEST(PolicyQuotas, AreThoseOfTheFirstEntryThatFits) {
  const Policy policy = Parsed(R"(
[[quota]]
name = "staff"
group = 50
captures = 8
duration = "2h"
[[quota]]
name = "all"
captures = 2
bytes = "1GB"
duration = 600
)");
  EXPECT_EQ(policy.QuotaOf(kAnn).name, "staff");
  EXPECT_EQ(policy.QuotaOf(kAnn).captures, 8U);
  EXPECT_FALSE(policy.QuotaOf(kAnn).bytes.has_value());
  EXPECT_EQ(policy.QuotaOf(kBob).captures, 2U);
  EXPECT_EQ(policy.QuotaOf(kBob).bytes, uint64_t{1} << 30);
  EXPECT_EQ(policy.QuotaOf(kBob).duration, Nanos::FromSeconds(600));
  EXPECT_TRUE(Parsed("").QuotaOf(kBob).name.empty());
}

TEST(PolicyChanges, AreNamed) {
  const auto rule = [](std::string_view name, std::string_view rest) {
    return "[[rule]]\nname = '" + std::string(name) + "'\naction = 'deny'\n" + std::string(rest) + "\n";
  };
  const Policy before = Parsed(rule("a", "user = 1") + rule("b", "user = 2") + rule("c", "user = 3"));
  EXPECT_EQ(PolicyChanges(before, before), "nothing");
  EXPECT_EQ(PolicyChanges(before, Parsed("# other words\n" + rule("a", "user=1") + rule("b", "user = 2") +
                                         rule("c", "user = 3"))),
            "nothing");
  EXPECT_EQ(PolicyChanges(before, Parsed("default = 'deny'\n" + rule("a", "user = 7") + rule("c", "user = 3") +
                                         rule("d", "") + "[[quota]]\nname = 'q'\ncaptures = 1")),
            "default: deny; rules added: d; rules removed: b; rules changed: a; quotas added: q");
  EXPECT_EQ(PolicyChanges(before, Parsed(rule("b", "user = 2") + rule("a", "user = 1") + rule("c", "user = 3"))),
            "rules: in another order");
  EXPECT_EQ(PolicyChanges(Parsed(""), Parsed("cpu = '12.5%'")), "cpu: 12.5%");
  EXPECT_EQ(PolicyChanges(Parsed("cpu = '5%'"), Parsed("")), "cpu: no limit");
}

TEST(PolicyChanges, OfYamaComeWithARestart) {
  EXPECT_FALSE(Parsed("yama = 'obey'").waives_yama);
  EXPECT_TRUE(Parsed("yama = 'waive'").waives_yama);
  EXPECT_FALSE(Parsed("yama = 'waive'").denies_anything());
  EXPECT_EQ(PolicyChanges(Parsed(""), Parsed("yama = 'waive'")), "yama: waive (after a restart of ptrace-profd)");
}

TEST(PolicyIdentities, TheFirstThatFitsTheCertificateIsTheOne) {
  const Policy policy = Parsed(R"(
[[identity]]
name = "both"
common_name = "ann"
uri = ["spiffe://a", "spiffe://b"]
user = 54321
gid = 100
[[identity]]
name = "several"
common_name = ["ann", "dashboard"]
impersonate = [54321, 54322]
gid = 100
)");
  const auto name = [&](std::string_view common_name, const std::vector<std::string>& uris) {
    const IdentityRule* rule = policy.FindIdentity(common_name, uris);
    return rule == nullptr ? std::string() : rule->name;
  };
  EXPECT_EQ(name("ann", {"spiffe://x", "spiffe://b"}), "both");
  EXPECT_EQ(name("ann", {}), "several");
  EXPECT_EQ(name("Ann", {"spiffe://a"}), "") << "letter by letter";
  EXPECT_EQ(name("", {"spiffe://a"}), "");
  EXPECT_FALSE(policy.identities[0].impersonates);
  EXPECT_EQ(policy.identities[0].users.front().gid, Gid(100));
  ASSERT_TRUE(policy.identities[1].impersonates);
  EXPECT_NE(policy.identities[1].FindUser("54322"), nullptr);
  EXPECT_EQ(policy.identities[1].FindUser("0"), nullptr);
  EXPECT_EQ(policy.identities[1].FindUser(""), nullptr);
}

TEST(PolicyIdentities, MayAskMunge) {
  const Policy policy = Parsed(R"(
munge_socket = "/run/other/munge"
[[identity]]
name = "login"
common_name = "login1"
impersonate = [54321, 54322]
munge = true
gid = 100
)");
  EXPECT_EQ(policy.munge_socket, "/run/other/munge");
  EXPECT_TRUE(policy.identities[0].asks_munge);
  EXPECT_NE(policy.identities[0].FindUser(Uid(54322)), nullptr);
  EXPECT_EQ(policy.identities[0].FindUser(Uid(0)), nullptr);
  EXPECT_EQ(PolicyChanges(Parsed(""), Parsed("munge_socket = '/s'")), "munge_socket: /s");
  EXPECT_EQ(PolicyChanges(Parsed("munge_socket = '/s'"), Parsed("")), "munge_socket: the default one");
}

TEST(PolicyIdentities, OfThisMachineAreCompleteFromTheStart) {
  const Policy policy = Parsed("[[identity]]\nname = 'r'\ncommon_name = '*'\nuser = 'root'\nroot = true");
  ASSERT_EQ(policy.identities.size(), 1U);
  EXPECT_EQ(policy.identities[0].users.front().name, "root");
  EXPECT_NE(policy.identities[0].FindUser("root"), nullptr);
  EXPECT_NE(policy.FindIdentity("anybody", {}), nullptr);
  EXPECT_NE(policy.FindIdentity("", {}), nullptr);
}

}  // namespace
}  // namespace ptrace_prof

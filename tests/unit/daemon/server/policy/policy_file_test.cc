// Files that are not a policy, each with its message; and files that other users may have written.

#include "daemon/server/policy/policy_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ptrace_prof {
namespace {

struct BadFile {
  const char* text;
  const char* message;  // after "p.toml:"
  const char* remedy;   // a part of it
};

constexpr BadFile kBadFiles[] = {
    {"default = \n", "1: this is not valid TOML", "toml.io"},
    {"\n[[rule]\n", "2: this is not valid TOML", "toml.io"},
    {"defualt = 'deny'", "1: the policy has no key 'defualt'",
     "default, cpu, yama, munge_socket, rule, quota, identity"},
    {"\ndefault = 'maybe'", "2: default is neither \"allow\" nor \"deny\"", "default = \"deny\""},
    {"cpu = 0.5", "1: cpu is not a valid amount", "10%"},
    {"cpu = '101%'", "1: cpu is not a valid amount", "10%"},
    {"default = true", "1: default is neither", "default = \"deny\""},
    {"yama = true", "1: yama is neither \"obey\" nor \"waive\"", "yama = \"waive\""},
    {"[[identity]]\nname = 'x'\nuser = 'root'", "1: the identity 'x' matches no certificate", "common_name"},
    {"[[identity]]\nname = 'x'\nuri = 'u'\nuser = 'root'", "1: the identity 'x' would give clients", "root = true"},
    {"[[identity]]\nname = 'x'\nuri = 'u'\nuser = 54321", "1: the identity 'x' names user 54321", "gid = NUMBER"},
    {"[[identity]]\nname = 'x'\nuri = 'u'", "1: the identity 'x' names no user", "impersonate"},
    {"[[identity]]\nname = 'x'\nuri = 7\nuser = 54321\ngid = 1", "3: uri is neither a name", "not a pattern"},
    {"[[identity]]\nname = 'x'\nuri = 'u'\nroot = 1\nuser = 54321\ngid = 1", "4: root is neither true nor false",
     "root = true"},
    {"[[identity]]\nname = 'x'\nuri = 'u'\nuser = 54321\ngid = 1\nmunge = true", "1: the identity 'x' is one user",
     "impersonate"},
    {"[[identity]]\nname = 'x'\nuri = 'u'\nimpersonate = 54321\ngid = 1\nmunge = 'yes'", "6: munge is neither true nor",
     "munge = true"},
    {"munge_socket = 'munge.socket.2'", "1: munge_socket is not an absolute path", "/run/munge/munge.socket.2"},
    {"munge_socket = 7", "1: munge_socket is not an absolute path", "leave it out"},
    {"rule = 7", "1: rule is not a list of at most 1024 tables", "[[rule]]"},
    {"[rule]\nname = 'x'", "1: rule is not a list", "[[rule]]"},
    {"[[rule]]\naction = 'deny'", "1: a rule has no name", "name = \"...\""},
    {"[[rule]]\nname = 'x'", "1: the rule 'x' has no action", "action = \"deny\""},
    {"[[rule]]\nname = 'x'\naction = 'forbid'", "3: action is neither", "action = \"deny\""},
    {"[[rule]]\nname = ''\naction = 'deny'", "2: the name of a rule must have 1 to 64 letters", "no-services"},
    {"[[rule]]\nname = \"a\\nb\"\naction = 'deny'", "2: the name of a rule must", "no-services"},
    {"[[rule]]\nname = 'x'\naction = 'deny'\n[[rule]]\nname = 'x'\naction = 'deny'", "5: a rule 'x' already exists",
     "a unique name"},
    {"[[rule]]\nname = 'x'\naction = 'deny'\nusr = 'root'", "4: a rule has no key 'usr'",
     "user, group, owner, command"},
    {"[[rule]]\nname = 'x'\naction = 'deny'\nuser = 'no-such-user'", "4: user: there is no user 'no-such-user'",
     "/etc/passwd"},
    {"[[rule]]\nname = 'x'\naction = 'deny'\ngroup = ['root', 'no-such']", "4: group: there is no group 'no-such'",
     "/etc/group"},
    {"[[rule]]\nname = 'x'\naction = 'deny'\nowner = [\n  0,\n  'nn-nn',\n]", "6: owner: there is no user 'nn-nn'",
     "getent passwd"},
    {"[[rule]]\nname = 'x'\naction = 'deny'\nuser = -1", "4: user -1 is not a valid ID of a user", "0 to 4294967294"},
    {"[[rule]]\nname = 'x'\naction = 'deny'\nuser = 1.5", "4: user is neither a name nor a number", "[1000, 1001]"},
    {"[[rule]]\nname = 'x'\naction = 'deny'\nuser = []", "4: user is an empty list", "leave it out"},
    {"[[rule]]\nname = 'x'\naction = 'deny'\ncommand = 7", "4: command is neither a pattern", "python*"},
    {"[[rule]]\nname = 'x'\naction = 'deny'\nexe = ['/a', '[']", "4: exe: '[' is not a valid pattern", "[a-z]"},
    {"[[quota]]\nname = 'q'\ncaptures = 'few'", "3: captures is not a number from 0 to 4096", "captures = 4"},
    {"[[quota]]\nname = 'q'\nbytes = '1 parsec'", "3: bytes is not a valid amount", "500MB"},
    {"[[quota]]\nname = 'q'\nduration = true", "3: duration is not a valid amount", "90s"},
    {"[[quota]]\nname = 'q'\nduration = -5", "3: duration is not a valid amount", "90s"},
    {"[[quota]]\nname = 'q'\nspool = 5", "3: a quota has no key 'spool'", "captures, bytes, duration"},
    {"[[quota]]\nname = 'q'\nbytes = 0\n[[rule]]\nname = 7", "3: bytes is not a valid", "500MB"},
};

TEST(PolicyFile, SaysWhatIsWrongAndWhere) {
  for (const BadFile& bad : kBadFiles) {
    const auto policy = ParsePolicy(bad.text, "p.toml");
    ASSERT_TRUE(policy.has_error()) << bad.text;
    EXPECT_EQ(policy.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(policy.error().message.starts_with("p.toml:" + std::string(bad.message))) << bad.text << "\n"
                                                                                          << policy.error().message;
    EXPECT_NE(policy.error().remedy.find(bad.remedy), std::string::npos) << bad.text << "\n" << policy.error().remedy;
  }
}

TEST(PolicyFile, TheExampleIsOne) {
  std::ifstream file(PP_EXAMPLE_POLICY);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto policy = ParsePolicy(text, "example");
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  EXPECT_FALSE(policy.value().rules.empty());
  EXPECT_FALSE(policy.value().quotas.empty());
}

class OnDisk : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(path_) << "default = 'deny'\n"; }
  void TearDown() override { std::filesystem::remove(path_); }
  Result<Policy> Read() const { return ReadPolicy(path_, Uid(::getuid())); }

  const std::string path_ = testing::TempDir() + "policy-" + std::to_string(::getpid()) + ".toml";
};

TEST_F(OnDisk, IsRead) {
  ::chmod(path_.c_str(), 0644);
  const auto policy = Read();
  ASSERT_TRUE(policy.has_value()) << policy.error().message;
  EXPECT_FALSE(policy.value().allows_by_default);
}

TEST_F(OnDisk, OneThatOthersMayWriteIsRefusedByName) {
  for (const mode_t mode : {0664, 0646}) {
    ::chmod(path_.c_str(), mode);
    const auto policy = Read();
    ASSERT_TRUE(policy.has_error());
    EXPECT_EQ(policy.error().code, Code::kPermissionDenied);
    EXPECT_NE(policy.error().message.find(path_), std::string::npos);
    EXPECT_NE(policy.error().remedy.find("chmod 644 " + path_), std::string::npos);
  }
}

TEST_F(OnDisk, OneOfAnotherUserIsRefused) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "only root can give a file away";
  }
  ASSERT_EQ(::chown(path_.c_str(), 1234, 1234), 0);
  EXPECT_EQ(Read().error().code, Code::kPermissionDenied);
  EXPECT_TRUE(ReadPolicy(path_, Uid(1234)).has_value()) << "who started the daemon";
}

TEST_F(OnDisk, OneThatIsNotThereIsNotFound) {
  std::filesystem::remove(path_);
  EXPECT_EQ(Read().error().code, Code::kNotFound);
}

}  // namespace
}  // namespace ptrace_prof

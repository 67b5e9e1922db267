#include "client/cli/completion.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "client/cli/command.h"

namespace ptrace_prof {
namespace {

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    for (const CommandRow& row : Commands()) {
      commands_.push_back(row.make());
      commands_.back()->Declare(*root_.add_subcommand(std::string(row.name), std::string(row.summary)));
    }
  }
  // The completions for the last of these words.
  std::string CompletedByBash(const std::string& words) const {
    const std::string script = CompletionScript("bash", root_).value() + "COMP_WORDS=(" + words +
                               ") COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _ptrace_prof; echo \"${COMPREPLY[@]}\"\n";
    char path[] = "/tmp/completion-test-XXXXXX";
    const int fd = ::mkstemp(path);
    EXPECT_EQ(::write(fd, script.data(), script.size()), static_cast<ssize_t>(script.size()));
    ::close(fd);
    FILE* shell = ::popen((std::string("bash ") + path + " 2>&1").c_str(), "r");
    char answer[256] = {};
    const size_t size = std::fread(answer, 1, sizeof answer - 1, shell);
    ::pclose(shell);
    ::unlink(path);
    return std::string(answer, size);
  }

  std::vector<std::unique_ptr<Command>> commands_;  // own the variables that the options set
  CLI::App root_{"", "ptrace-prof"};
};

TEST_F(CompletionTest, EveryShellGetsEveryOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = CompletionScript(shell, root_).value();
    for (const char* word : {"record", "dump", "top", "ps", "doctor", "export", "completion", "duration",
                             "max-overhead", "locals", "speedscope", "captures", "cancel", "follow"}) {
      EXPECT_NE(script.find(word), std::string::npos) << word << " for " << shell;
    }
    EXPECT_EQ(script.find("native"), std::string::npos) << "what is not supported is not offered";
  }
}

TEST_F(CompletionTest, BashCompletes) {
  EXPECT_EQ(CompletedByBash("ptrace-prof record --max-o"), "--max-overhead\n");
  EXPECT_EQ(CompletedByBash("ptrace-prof captures wa"), "watch\n");
  EXPECT_EQ(CompletedByBash("ptrace-prof captures fetch --fol"), "--follow\n");
}

TEST_F(CompletionTest, NamesTheShellsThatItKnows) {
  const auto script = CompletionScript("tcsh", root_);
  ASSERT_TRUE(script.has_error());
  EXPECT_NE(script.error().remedy.find("bash, zsh and fish"), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof

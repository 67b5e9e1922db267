#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "client/cli/command.h"
#include "client/cli/completion.h"

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
  std::vector<std::unique_ptr<Command>> commands_;  // own what the options are bound to
  CLI::App root_{"", "ptrace-prof"};
};

TEST_F(CompletionTest, EveryShellGetsEveryOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = CompletionScript(shell, root_).value();
    for (const char* word : {"record", "dump", "top", "ps", "doctor", "export", "completion", "duration",
                             "max-overhead", "locals", "speedscope"}) {
      EXPECT_NE(script.find(word), std::string::npos) << word << " for " << shell;
    }
    EXPECT_EQ(script.find("native"), std::string::npos) << "what is not in this version is not offered";
  }
}

TEST_F(CompletionTest, BashCompletes) {
  const std::string script =
      CompletionScript("bash", root_).value() +
      "COMP_WORDS=(ptrace-prof record --max-o) COMP_CWORD=2; _ptrace_prof; echo \"${COMPREPLY[@]}\"\n";
  char path[] = "/tmp/completion-test-XXXXXX";
  const int fd = ::mkstemp(path);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::write(fd, script.data(), script.size()), static_cast<ssize_t>(script.size()));
  ::close(fd);
  FILE* shell = ::popen((std::string("bash ") + path + " 2>&1").c_str(), "r");
  char answer[256] = {};
  const size_t size = std::fread(answer, 1, sizeof answer - 1, shell);
  ::pclose(shell);
  ::unlink(path);
  EXPECT_EQ(std::string(answer, size), "--max-overhead\n");
}

TEST_F(CompletionTest, NamesTheShellsThatItKnows) {
  const auto script = CompletionScript("tcsh", root_);
  ASSERT_TRUE(script.has_error());
  EXPECT_NE(script.error().remedy.find("bash, zsh and fish"), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof

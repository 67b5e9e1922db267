// Run against a process of ours whose environment names a temporary directory of its own.
#include "attach/inject/script_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ptrace_prof {
namespace {

// A process with a temporary directory of its own, named in its environment.
class ScriptFilesTest : public testing::Test {
 protected:
  ScriptFilesTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pp-scripts.XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    int ends[2] = {};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    child_ = ::fork();
    if (child_ == 0) {
      const std::string variable = "TMPDIR=" + folder_;
      char* environment[] = {const_cast<char*>(variable.c_str()), nullptr};
      char* arguments[] = {const_cast<char*>("sleep"), const_cast<char*>("1000"), nullptr};
      ::execve("/bin/sleep", arguments, environment);
      ::_exit(127);
    }
    ::close(ends[1]);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 0);  // it has exec'ed
    ::close(ends[0]);
  }
  ~ScriptFilesTest() override {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  size_t Entries() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  std::string folder_;
  pid_t child_ = -1;
};

TEST_F(ScriptFilesTest, MakesOneFileThatIsTheTargetsAlone) {
  ScriptFolder files{Pid(child_)};
  const Result<std::string> path = files.Make();
  ASSERT_TRUE(path.has_value()) << path.error().message;
  EXPECT_TRUE(path.value().starts_with(folder_ + "/" + ScriptPrefix(Pid(child_)).value())) << path.value();
  struct stat info {};
  ASSERT_EQ(::stat(path.value().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  ASSERT_TRUE(files.Fill("a script\n").has_value());
  EXPECT_EQ(files.Readers().value(), 0U);
  std::ofstream(path.value(), std::ios::app) << "##";
  EXPECT_EQ(files.Readers().value(), 2U);
  EXPECT_TRUE(files.Remove().has_value());
  EXPECT_EQ(Entries(), 0U);
}

TEST_F(ScriptFilesTest, RemovesWhatAKilledCollectorLeftAndNothingElse) {
  const std::string prefix = ScriptPrefix(Pid(child_)).value();
  std::ofstream(folder_ + "/" + prefix + "0123.py") << "left";
  std::ofstream(folder_ + "/ptrace-prof.1.1.0123.py") << "of another process";
  ScriptFolder files{Pid(child_)};
  EXPECT_FALSE(files.AnotherHasOne().value());
  ASSERT_TRUE(files.Make().has_value());
  EXPECT_EQ(Entries(), 3U);
  EXPECT_TRUE(files.Remove().has_value());
  EXPECT_EQ(Entries(), 1U);
}

TEST_F(ScriptFilesTest, KnowsThatAnotherIsAtWork) {
  ScriptFolder files{Pid(child_)};
  ASSERT_TRUE(files.Make().has_value());
  EXPECT_FALSE(files.AnotherHasOne().value());
  const pid_t other = ::fork();  // locks belong to a process
  if (other == 0) {
    ScriptFolder theirs{Pid(child_)};
    const bool seen = theirs.AnotherHasOne().value();
    const bool kept = theirs.Remove().has_value() && Entries() == 1;
    ::_exit(seen && kept ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(files.Empty().has_value());
  EXPECT_TRUE(files.Remove().has_value());
  EXPECT_EQ(Entries(), 0U);
}

}  // namespace
}  // namespace ptrace_prof

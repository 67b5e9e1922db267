#include "client/cli/export/source_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ptrace_prof {
namespace {

class SourceFileTest : public testing::Test {
 protected:
  ~SourceFileTest() override { std::filesystem::remove_all(folder_); }
  static std::string MakeFolder() {
    char name[] = "/tmp/source-test-XXXXXX";
    return ::mkdtemp(name);
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::string Refusal(const std::string& path) {
    const Result<SourceFile> file = ReadSourceFile(Pid(::getpid()), path);
    return file.has_error() ? file.error().message : "(read)";
  }
  std::string folder_ = MakeFolder();
};

TEST_F(SourceFileTest, LinesAreShownAsPythonMeansThem) {
  const std::string path = Write("x.py", "def f():\r\n\treturn 1\n\n    x\ty\x1b[31m\n\xff last");
  const SourceFile file = ReadSourceFile(Pid(::getpid()), path).value();
  EXPECT_EQ(file.lines,
            (std::vector<std::string>{"def f():", "        return 1", "", "    x   y\\x1b[31m", "\\xff last"}));
  EXPECT_EQ(file.where, path);
}

TEST_F(SourceFileTest, RelativeToTheProcess) {
  Write("x.py", "one\n");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  const Result<SourceFile> file = ReadSourceFile(Pid(::getpid()), "x.py");
  std::filesystem::current_path(before);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file.value().lines.size(), 1U);
}

TEST_F(SourceFileTest, OfAProcessThatHasEnded) {
  const std::string path = Write("x.py", "one\n");
  const Result<SourceFile> file = ReadSourceFile(Pid(4194303), path);
  ASSERT_TRUE(file.has_value());
  EXPECT_NE(file.value().where.find("found outside the process"), std::string::npos);
}

TEST_F(SourceFileTest, OnlyRegularFilesOfASensibleSize) {
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string large = Write("large.py", std::string(kMaxSourceBytes + 1, 'x'));
  EXPECT_NE(Refusal(pipe).find("not a regular file"), std::string::npos);
  EXPECT_NE(Refusal("/dev/zero").find("not a regular file"), std::string::npos);
  EXPECT_NE(Refusal(folder_).find("not a regular file"), std::string::npos);
  EXPECT_NE(Refusal(large).find("larger than 4 MiB"), std::string::npos);
  EXPECT_NE(Refusal(folder_ + "/absent.py").find("No such file"), std::string::npos);
  EXPECT_NE(Refusal("<string>").find("did not come from a file"), std::string::npos);
  EXPECT_NE(Refusal("").find("did not come from a file"), std::string::npos);
  EXPECT_NE(Refusal(std::string("/etc/passwd\0.py", 15)).find("did not come from a file"), std::string::npos);
  EXPECT_EQ(Refusal(folder_ + "/\x1b[2J").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof

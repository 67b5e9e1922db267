#include "client/cli/admin/audit_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace ptrace_prof {
namespace {

using Change = AuditFile::Change;

class AuditFileTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_), nullptr);
    path_ = std::string(folder_) + "/audit.log";
    Append("one\ntwo\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Append(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }
  std::vector<std::string> ReadOn(AuditFile& file, Change expected = Change::kNone) {
    std::vector<std::string> lines;
    const auto change = file.ReadOn([&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    EXPECT_EQ(change.value(), expected);
    return lines;
  }

  using Lines = std::vector<std::string>;
  char folder_[32] = "/tmp/pp-audit-XXXXXX";
  std::string path_;
};

TEST_F(AuditFileTest, LinesComeOnceAndWhole) {
  AuditFile file = AuditFile::Open(path_).value();
  EXPECT_EQ(ReadOn(file), (Lines{"one", "two"}));
  Append("thr");
  EXPECT_EQ(ReadOn(file), Lines());
  EXPECT_EQ(file.rest(), "thr");
  Append("ee\n\nfive");
  EXPECT_EQ(ReadOn(file), (Lines{"three", ""}));
  EXPECT_EQ(file.rest(), "five");
}

TEST_F(AuditFileTest, OneThatIsCutShortIsReadFromItsBeginning) {
  AuditFile file = AuditFile::Open(path_).value();
  ReadOn(file);
  std::filesystem::resize_file(path_, 0);
  Append("new\n");
  EXPECT_EQ(ReadOn(file, Change::kCutShort), Lines{"new"});
  EXPECT_EQ(ReadOn(file), Lines());
}

TEST_F(AuditFileTest, AlsoOneThatHasGrownBeyondWhereItWasMeanwhile) {
  AuditFile file = AuditFile::Open(path_).value();
  ReadOn(file);
  std::filesystem::resize_file(path_, 0);
  Append("longer than the others were\nmore\n");
  EXPECT_EQ(ReadOn(file, Change::kCutShort), (Lines{"longer than the others were", "more"}));
}

TEST_F(AuditFileTest, OneThatIsReplacedIsReadToItsEndAndThenTheNewOne) {
  AuditFile file = AuditFile::Open(path_).value();
  ReadOn(file);
  Append("last\nhal");
  std::filesystem::rename(path_, path_ + ".1");
  EXPECT_EQ(ReadOn(file), Lines{"last"}) << "until there is a new one, more may come";
  Append("new\n");
  EXPECT_EQ(ReadOn(file, Change::kReplaced), Lines{"hal"}) << "it never becomes a line any more";
  EXPECT_EQ(ReadOn(file), Lines{"new"});
}

TEST_F(AuditFileTest, ALineWithoutAnEndTakesNoEndOfMemory) {
  Append(std::string(5'000'000, 'x'));
  AuditFile file = AuditFile::Open(path_).value();
  EXPECT_GE(ReadOn(file).size(), 4u);
  EXPECT_LE(file.rest().size(), 1'100'000u);
}

TEST_F(AuditFileTest, WhatIsNoFileIsRefused) {
  const std::string pipe = path_ + ".pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(AuditFile::Open(pipe).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(AuditFile::Open(path_ + ".none").has_error());
}

}  // namespace
}  // namespace ptrace_prof

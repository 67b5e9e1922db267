#include "client/cli/record/spool_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ptrace_prof {
namespace {

class SpoolFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/spool-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string Content(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  size_t FileCount() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  std::string folder_;
};

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST_F(SpoolFileTest, LeavesNothingBehind) {
  {
    SpoolFile spool = SpoolFile::Create(folder_ + "/x.html").value();
    ASSERT_FALSE(spool.Append(Bytes("abc")).has_error());
    EXPECT_EQ(spool.size(), 3U);
    EXPECT_EQ(Content(spool.path()), "abc");
  }
  EXPECT_EQ(FileCount(), 0U);
}

TEST_F(SpoolFileTest, BecomesTheOutput) {
  {
    SpoolFile spool = SpoolFile::Create(folder_ + "/x.pftrace").value();
    ASSERT_FALSE(spool.Append(Bytes("abc")).has_error());
    ASSERT_FALSE(spool.RenameTo(folder_ + "/x.pftrace").has_error());
  }
  EXPECT_EQ(Content(folder_ + "/x.pftrace"), "abc");
  EXPECT_EQ(FileCount(), 1U);
}

TEST_F(SpoolFileTest, NeverOverwritesAKeptTrace) {
  const std::string kept = [&] {
    SpoolFile spool = SpoolFile::Create(folder_ + "/x.html").value();
    EXPECT_FALSE(spool.Append(Bytes("precious")).has_error());
    EXPECT_TRUE(spool.Keep().has_value());
    return spool.path();
  }();
  SpoolFile second = SpoolFile::Create(folder_ + "/x.html").value();
  EXPECT_NE(second.path(), kept);
  const auto third = SpoolFile::Create(folder_ + "/x.html");
  ASSERT_TRUE(third.has_error());
  EXPECT_EQ(third.error().code, Code::kAlreadyExists);
  EXPECT_EQ(Content(kept), "precious");
}

TEST_F(SpoolFileTest, WithoutANameIsSeenByNobody) {
  SpoolFile spool = SpoolFile::CreateNameless(folder_ + "/x").value();
  ASSERT_FALSE(spool.Append(Bytes("abc")).has_error());
  EXPECT_EQ(FileCount(), 0U);
  const UniqueFd again = spool.OpenForReading().value();
  char text[8] = {};
  EXPECT_EQ(::read(again.get(), text, sizeof text), 3);
  EXPECT_STREQ(text, "abc");
  ASSERT_FALSE(spool.Append(Bytes("def")).has_error());
  EXPECT_EQ(::read(again.get(), text, sizeof text), 3) << "it has a place of its own";
  EXPECT_FALSE(spool.has_name());
}

TEST_F(SpoolFileTest, WithoutANameGetsOneWhenItIsKept) {
  {
    SpoolFile spool = SpoolFile::CreateNameless(folder_ + "/x").value();
    ASSERT_FALSE(spool.Append(Bytes("abc")).has_error());
    const auto kept = spool.Keep();
    ASSERT_TRUE(kept.has_value()) << kept.error().message;
    EXPECT_TRUE(spool.has_name());
  }
  EXPECT_EQ(Content(folder_ + "/x.pftrace.tmp"), "abc");
  SpoolFile second = SpoolFile::CreateNameless(folder_ + "/x").value();
  const auto refused = second.Keep();
  ASSERT_TRUE(refused.has_error()) << "nobody's file is overwritten";
  EXPECT_NE(refused.error().message.find(folder_ + "/x.pftrace.tmp"), std::string::npos);
}

TEST_F(SpoolFileTest, SaysWhereItCannotWrite) {
  const auto spool = SpoolFile::Create(folder_ + "/missing/x.html");
  ASSERT_TRUE(spool.has_error());
  EXPECT_NE(spool.error().message.find(folder_ + "/missing/x.html.pftrace.tmp"), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof

#include "daemon/server/program/audit_log.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

AuditEntry Sample() {
  return {.caller = {.uid = 1000, .gid = 100, .groups = {}, .pid = Pid(77)}, .what = "record", .target = Pid(4711)};
}

rapidjson::Document Parsed(const std::string& line) {
  rapidjson::Document document;
  document.Parse(line.c_str());
  EXPECT_FALSE(document.HasParseError()) << line;
  return document;
}

TEST(AuditLine, ReportsWhoWhomWhatAndHowItEnded) {
  EXPECT_EQ(AuditLine(Sample(), Nanos(1'700'000'000'123'456'000)),
            R"({"time":"2023-11-14T22:13:20.123456Z","uid":1000,"gid":100,"pid":77,"what":"record","target":4711,)"
            R"("outcome":"started"})");
}

TEST(AuditLine, NamesTheRuleThatDecided) {
  AuditEntry entry = Sample();
  entry.rule = "jobs";
  EXPECT_STREQ(Parsed(AuditLine(entry, Nanos()))["rule"].GetString(), "jobs");
}

TEST(AuditLine, SaysWhatTheTargetWas) {
  AuditEntry entry = Sample();
  EXPECT_FALSE(Parsed(AuditLine(entry, Nanos())).HasMember("target_uid"));
  entry.whom = AuditedTarget{Uid(1002), "py\x1bthon"};
  const auto document = Parsed(AuditLine(entry, Nanos()));
  EXPECT_EQ(document["target_uid"].GetUint(), 1002u);
  EXPECT_STREQ(document["target_command"].GetString(), CleanText("py\x1bthon").c_str());
}

TEST(AuditLine, NamesTheCaptureOfAnother) {
  AuditEntry entry = Sample();
  EXPECT_FALSE(Parsed(AuditLine(entry, Nanos())).HasMember("owner"));
  entry.capture = AuditedCapture{"c1", Uid(1001)};
  const auto document = Parsed(AuditLine(entry, Nanos()));
  EXPECT_STREQ(document["capture"].GetString(), "c1");
  EXPECT_EQ(document["owner"].GetUint(), 1001u);
}

TEST(AuditLine, NothingFromOutsideMakesAnotherLineOrField) {
  AuditEntry entry = Sample();
  entry.outcome = AuditOutcome::kRefused;
  entry.error = Because(Reason::kCallerUidMismatch, "process 1 (\",\"uid\":0}\n{\x01\xff) belongs to root");
  const std::string line = AuditLine(entry, Nanos());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto document = Parsed(line);
  EXPECT_EQ(document["uid"].GetUint(), 1000u);
  EXPECT_STREQ(document["outcome"].GetString(), "refused");
  EXPECT_STREQ(document["reason"].GetString(), "CALLER_UID_MISMATCH");
}

TEST(AuditLine, NamesWhomMungedVouchedFor) {
  AuditEntry entry = Sample();
  EXPECT_FALSE(Parsed(AuditLine(entry, Nanos())).HasMember("munge_uid"));
  entry.caller.munge_uid = 54321;
  EXPECT_EQ(Parsed(AuditLine(entry, Nanos()))["munge_uid"].GetUint(), 54321u);
}

TEST(AuditLine, RefusalsAreReportedFromFailures) {
  EXPECT_EQ(OutcomeOf(Because(Reason::kYamaDenied, "")), AuditOutcome::kRefused);
  EXPECT_EQ(OutcomeOf(Because(Reason::kQuota, "")), AuditOutcome::kRefused);
  EXPECT_EQ(OutcomeOf({Code::kUnauthenticated, "", ""}), AuditOutcome::kRefused);
  EXPECT_EQ(OutcomeOf(Because(Reason::kNotPython, "")), AuditOutcome::kFailed);
}

class Auditing : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_), nullptr);
    path_ = std::string(folder_) + "/audit.log";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  char folder_[32] = "/tmp/pp-audit-XXXXXX";
  std::string path_;
};

TEST_F(Auditing, AppendsToAFileOfItsOwnersAlone) {
  for (int run = 0; run < 2; ++run) {
    auto audit = AuditLog::Open(path_);
    ASSERT_TRUE(audit.has_value()) << audit.error().message;
    audit.value()->Write(Sample());
  }
  struct stat there {};
  ASSERT_EQ(::stat(path_.c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 07777, 0600u);
  std::ifstream file(path_);
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    EXPECT_STREQ(Parsed(line)["what"].GetString(), "record");
  }
  EXPECT_EQ(lines, 2);
}

TEST_F(Auditing, RefusesWhatOthersMayWriteTo) {
  std::ofstream(path_).close();
  ASSERT_EQ(::chmod(path_.c_str(), 0620), 0);
  EXPECT_EQ(AuditLog::Open(path_).error().code, Code::kPermissionDenied);
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  const std::string link = path_ + ".link";
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  EXPECT_TRUE(AuditLog::Open(link).has_error());
  EXPECT_TRUE(AuditLog::Open(folder_).has_error());
  EXPECT_FALSE(AuditLog::Open(link).error().remedy.empty());
}

}  // namespace
}  // namespace ptrace_prof

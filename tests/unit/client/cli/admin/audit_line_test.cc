#include "client/cli/admin/audit_line.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

constexpr char kRefused[] =
    R"({"time":"2026-11-21T22:10:03.540913Z","uid":1001,"gid":1001,"pid":4242,"what":"record","target":4711,)"
    R"("outcome":"refused","reason":"CALLER_UID_MISMATCH","message":"process 4711 belongs to bob"})";
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kThen = 1'795'299'003 * kSecond + 540'913'000;

TEST(AuditLineOfTheDaemon, IsUnderstood) {
  const auto record = ParseAuditLine(kRefused);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->time.value, kThen);
  EXPECT_EQ(record->uid, Uid(1001));
  EXPECT_EQ(record->caller, Pid(4242));
  EXPECT_EQ(record->target, Pid(4711));
  EXPECT_EQ(record->json, kRefused);
  EXPECT_EQ(
      AuditTableLine(*record, "alice"),
      "2026-11-21T22:10:03Z  alice            4242  record       4711  refused   CALLER_UID_MISMATCH: process 4711 "
      "belongs to bob\n");
}

TEST(AuditLineOfTheDaemon, NamesTheRuleOfThePolicy) {
  const auto record = ParseAuditLine(
      R"({"time":"2026-11-21T22:10:03Z","uid":1,"pid":2,"what":"dump","outcome":"started","rule":"support"})");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(AuditTableLine(*record, "x"),
            "2026-11-21T22:10:03Z  x                   2  dump            -  started   (rule support)\n");
}

TEST(AuditLineOfTheDaemon, SaysWhatTheTargetWas) {
  const auto record = ParseAuditLine(
      R"({"time":"2026-11-21T22:10:03Z","uid":1,"pid":2,"what":"dump","target":7,"target_uid":1002,"target_command":"python3","outcome":"started"})");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(AuditTableLine(*record, "x"),
            "2026-11-21T22:10:03Z  x                   2  dump            7  started   (python3 of user 1002)\n");
}

TEST(AuditLineOfTheDaemon, NamesWhoseCaptureItWas) {
  const auto record = ParseAuditLine(
      R"({"time":"2026-11-21T22:10:03Z","uid":0,"pid":2,"what":"read","target":7,"capture":"c1","owner":1001,"outcome":"allowed"})");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(AuditTableLine(*record, "root"),
            "2026-11-21T22:10:03Z  root                2  read            7  allowed   capture c1 of user 1001\n");
}

TEST(AuditLineOfTheDaemon, WhatIsCutOrNoneIsNotTakenForOne) {
  const std::string whole = kRefused;
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseAuditLine(whole.substr(0, size)).has_value()) << size;
  }
  for (const char* other : {"[]", "{}", "null", R"({"time":"yesterday","uid":1,"pid":1})",
                            R"({"time":"2026-11-21T22:10:03Z","uid":-1,"pid":1})",
                            R"({"time":"2026-11-21T22:10:03Z","uid":"0","pid":1})"}) {
    EXPECT_FALSE(ParseAuditLine(other).has_value()) << other;
  }
  EXPECT_FALSE(ParseAuditLine(std::string(100'000, '[')).has_value());
}

TEST(AuditLineOfTheDaemon, NothingInItReachesTheTerminalAsAnEscape) {
  const auto record = ParseAuditLine(
      R"({"time":"2026-11-21T22:10:03Z","uid":1,"pid":2,"what":"\u001b[2J","outcome":"refused","message":"a\nb\u009bc","more":"\u001b"})");
  ASSERT_TRUE(record.has_value());
  for (const std::string& text : {record->json, AuditTableLine(*record, "x\x1b")}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n', 0), text.back() == '\n' ? text.size() - 1 : std::string::npos) << text;
  }
}

TEST(AuditFilterOfTheCommand, AllThatIsSetMustHold) {
  const auto record = ParseAuditLine(kRefused).value();
  EXPECT_TRUE(Matches(record, {}));
  EXPECT_TRUE(Matches(record, {.uid = Uid(1001), .pid = Pid(4711), .since = Nanos(kThen), .outcome = "refused"}));
  EXPECT_TRUE(Matches(record, {.pid = Pid(4242)}));
  EXPECT_FALSE(Matches(record, {.uid = Uid(0)}));
  EXPECT_FALSE(Matches(record, {.pid = Pid(1001)}));
  EXPECT_FALSE(Matches(record, {.since = Nanos(kThen + 1)}));
  EXPECT_FALSE(Matches(record, {.outcome = "allowed"}));
}

TEST(Since, IsAgoOrAMoment) {
  const Nanos now(kThen);
  EXPECT_EQ(ParseSince("90s", now).value().value, kThen - 90 * kSecond);
  EXPECT_EQ(ParseSince("2h", now).value().value, kThen - 7200 * kSecond);
  EXPECT_EQ(ParseSince("1.5d", now).value().value, kThen - 129'600 * kSecond);
  EXPECT_EQ(ParseSince("2026-11-21T22:10:03.540913Z", now).value().value, kThen);
  EXPECT_EQ(ParseSince("2026-11-21 22:10", now).value().value, 1'795'299'000 * kSecond);
  EXPECT_EQ(ParseSince("1970-01-02", now).value().value, 86'400 * kSecond);
  for (const char* wrong : {"", "d", "-1d", "1e99d", "2026-11-21x", "2999-01-01", "now", "2026-11-21T22:10:03.Zx"}) {
    EXPECT_TRUE(ParseSince(wrong, now).has_error()) << wrong;
  }
}

}  // namespace
}  // namespace ptrace_prof

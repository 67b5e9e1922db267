#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "client/cli/captures/capture_choice.h"
#include "client/cli/captures/captures_text.h"

namespace ptrace_prof {
namespace {

RemoteCapture Named(const std::string& id) {
  RemoteCapture capture;
  capture.name = "nodes/here/captures/" + id;
  return capture;
}

RemoteCapture Ended() {
  RemoteCapture capture = Named("c1");
  capture.state = RemoteState::kSucceeded;
  capture.pid = Pid(4711);
  capture.created = Nanos::FromSeconds(1000);
  capture.started = Nanos::FromSeconds(1001);
  capture.ended = Nanos::FromSeconds(1066);
  capture.samples = 26'000;
  capture.trace_bytes = 2048;
  capture.notices = {"3 children were not traced"};
  capture.end_message = "the target ex\x1b[2Jited";
  return capture;
}

TEST(CaptureChoice, TakesWhatIsUnmistakable) {
  const std::vector<RemoteCapture> captures = {Named("abc1"), Named("abd2"), Named("ab"), Named("x")};
  EXPECT_EQ(ChooseCapture(captures, "abc").value().id(), "abc1");
  EXPECT_EQ(ChooseCapture(captures, "ab").value().id(), "ab") << "a whole ID is not the beginning of another";
  EXPECT_EQ(ChooseCapture(captures, "nodes/here/captures/x").value().id(), "x");
}

TEST(CaptureChoice, RefusesWhatIsNot) {
  const std::vector<RemoteCapture> captures = {Named("abc1"), Named("abd2")};
  const auto two = ChooseCapture(captures, "ab");
  ASSERT_TRUE(two.has_error());
  EXPECT_EQ(two.error().code, Code::kInvalidArgument);
  EXPECT_NE(two.error().remedy.find("abc1, abd2"), std::string::npos) << two.error().remedy;
  for (const char* written : {"", "b", "abc12"}) {
    const auto none = ChooseCapture(captures, written);
    ASSERT_TRUE(none.has_error()) << written;
    EXPECT_EQ(none.error().code, Code::kNotFound);
  }
}

TEST(CapturesText, TimesAreShort) {
  EXPECT_EQ(ShortTime(Nanos()), "00:00");
  EXPECT_EQ(ShortTime(Nanos::FromSeconds(3.99)), "00:04");
  EXPECT_EQ(ShortTime(Nanos::FromSeconds(3599)), "59:59");
  EXPECT_EQ(ShortTime(Nanos::FromSeconds(3600)), "1:00:00");
  EXPECT_EQ(ShortTime(Nanos::FromSeconds(90'000)), "1d 1h");
}

TEST(CapturesText, TableSaysHowItEnded) {
  const std::vector<RemoteCapture> captures = {Ended(), Named("pending")};
  const std::string table = CapturesTable(captures, Nanos::FromSeconds(1120), Uid());
  EXPECT_NE(table.find("ID"), std::string::npos);
  EXPECT_NE(table.find("c1       succeeded  4711  02:00  01:05   26,000  2.0 KiB  the target ex\\x1b[2Jited"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("pending  pending"), std::string::npos) << table;
}

TEST(CapturesText, TableNamesTheOwnersWhereThereAreOthers) {
  std::vector<RemoteCapture> captures = {Ended(), Named("c2")};
  EXPECT_EQ(CapturesTable(captures, Nanos::FromSeconds(1120), Uid()).find("USER"), std::string::npos);
  captures[1].owner = Uid(3999999);
  const std::string table = CapturesTable(captures, Nanos::FromSeconds(1120), Uid());
  EXPECT_NE(table.find("PID  USER "), std::string::npos) << table;
  EXPECT_NE(table.find(" 3999999 "), std::string::npos) << table;
}

TEST(CapturesText, ACancelledOneSaysSo) {
  RemoteCapture cancelled = Ended();
  cancelled.state = RemoteState::kCancelled;
  cancelled.end_message.clear();  // from a server that sends no message
  EXPECT_NE(EventLine(cancelled, {}).find("(cancelled)"), std::string::npos) << EventLine(cancelled, {});
  cancelled.end_message = "cancelled; process 4711 ended";
  EXPECT_NE(EventLine(cancelled, {}).find("(cancelled; process 4711 ended)"), std::string::npos);
  cancelled.error = Error{Code::kCancelled, "cancelled; the collector was killed", ""};
  EXPECT_NE(EventLine(cancelled, {}).find("(cancelled; the collector was killed)"), std::string::npos);
  cancelled = Ended();
  cancelled.end_message.clear();
  EXPECT_NE(EventLine(cancelled, {}).find("(completed)"), std::string::npos);
}

TEST(CapturesText, AFailureIsReportedWithItsReason) {
  RemoteCapture failed = Ended();
  failed.state = RemoteState::kFailed;
  failed.error = Error{Code::kFailedPrecondition, "not Python", "give another"};
  EXPECT_NE(EventLine(failed, {}).find("(not Python)"), std::string::npos);
  rapidjson::Document json;
  json.Parse(CaptureJsonLine(failed).c_str());
  ASSERT_FALSE(json.HasParseError());
  EXPECT_STREQ(json["state"].GetString(), "failed");
  EXPECT_STREQ(json["error"]["code"].GetString(), "FAILED_PRECONDITION");
  EXPECT_STREQ(json["error"]["remedy"].GetString(), "give another");
}

TEST(CapturesText, JsonHasNullForWhatIsNotYet) {
  rapidjson::Document json;
  const std::vector<RemoteCapture> captures = {Named("a"), Ended()};
  json.Parse(CapturesJson(captures).c_str());
  ASSERT_FALSE(json.HasParseError());
  EXPECT_STREQ(json["schema"].GetString(), "ptrace-prof.captures/1");
  ASSERT_EQ(json["captures"].Size(), 2U);
  EXPECT_TRUE(json["captures"][0]["started"].IsNull());
  EXPECT_TRUE(json["captures"][0]["error"].IsNull());
  EXPECT_DOUBLE_EQ(json["captures"][1]["ended"].GetDouble(), 1066);
  EXPECT_EQ(json["captures"][1]["samples"].GetUint64(), 26'000U);
  EXPECT_EQ(json["captures"][0]["notices"].Size(), 0U);
  ASSERT_EQ(json["captures"][1]["notices"].Size(), 1U);
  EXPECT_STREQ(json["captures"][1]["notices"][0].GetString(), "3 children were not traced");
}

}  // namespace
}  // namespace ptrace_prof

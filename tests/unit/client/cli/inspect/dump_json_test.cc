#include "client/cli/inspect/dump_json.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

namespace ptrace_prof {
namespace {

TEST(DumpJson, SaysEverything) {
  DumpedThread thread;
  thread.info = {.pid = Pid(70),
                 .tid = Tid(71),
                 .ns_tid = Tid(2),
                 .name = "w\x1b\xff",
                 .python_ident = UINT64_MAX,
                 .is_main = true};
  thread.state = ThreadState::kGilWait;
  thread.holds_gil = false;
  thread.quality = SampleQuality::kStaleNames;
  thread.frames = {
      {.function = "f", .file = "a.py", .line = 3, .end_line = 4, .column = 0, .end_column = 9, .first_line = 1},
      {.function = "<GC>", .kind = FrameKind::kMarker}};
  thread.locals[0] = {{.name = "x", .value = "'\"'", .is_argument = true}};
  DumpedProcess process;
  process.info = {
      .pid = Pid(70), .ns_pid = Pid(1), .parent_pid = Pid(5), .name = "p", .cmdline = {"p", "-c"}, .python = "3.8.18"};
  process.threads = {thread};

  rapidjson::Document json;
  json.Parse(DumpJson(std::vector{process}).c_str());
  ASSERT_FALSE(json.HasParseError());
  EXPECT_STREQ(json["schema"].GetString(), "ptrace-prof.dump/1");
  const auto& p = json["processes"][0];
  EXPECT_EQ(p["pid"].GetInt(), 70);
  EXPECT_EQ(p["namespace_pid"].GetInt(), 1);
  EXPECT_EQ(p["parent_pid"].GetInt(), 5);
  EXPECT_STREQ(p["python"].GetString(), "3.8.18");
  EXPECT_STREQ(p["command_line"][1].GetString(), "-c");
  const auto& t = p["threads"][0];
  EXPECT_EQ(t["tid"].GetInt(), 71);
  EXPECT_STREQ(t["name"].GetString(), "w\\x1b\\xff");
  EXPECT_EQ(t["python_ident"].GetUint64(), UINT64_MAX);
  EXPECT_STREQ(t["state"].GetString(), "gil-wait");
  EXPECT_STREQ(t["quality"].GetString(), "stale-names");
  EXPECT_TRUE(t["main"].GetBool());
  EXPECT_FALSE(t["holds_gil"].GetBool());
  const auto& f = t["frames"][0];
  EXPECT_EQ(f["line"].GetInt(), 3);
  EXPECT_EQ(f["column"].GetInt(), 0);
  EXPECT_STREQ(f["locals"][0]["value"].GetString(), "'\"'");
  EXPECT_TRUE(f["locals"][0]["argument"].GetBool());
  EXPECT_TRUE(t["frames"][1]["marker"].GetBool());
  EXPECT_TRUE(t["frames"][1]["line"].IsNull());
  EXPECT_TRUE(t["frames"][1]["column"].IsNull());
  EXPECT_FALSE(t["frames"][1].HasMember("locals"));
}

TEST(DumpJson, OfNothing) {
  rapidjson::Document json;
  json.Parse(DumpJson({}).c_str());
  ASSERT_FALSE(json.HasParseError());
  EXPECT_EQ(json["processes"].Size(), 0U);
}

}  // namespace
}  // namespace ptrace_prof

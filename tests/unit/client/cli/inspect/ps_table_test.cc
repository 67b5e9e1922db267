// What `ps` and `doctor` print for given findings.
#include "client/cli/inspect/ps_table.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <unistd.h>

#include "client/cli/command_pattern.h"
#include "client/cli/inspect/doctor_text.h"
#include "client/cli/inspect/inspection_json.h"

namespace ptrace_prof {
namespace {

constexpr Uid kNobodyKnown{4'000'000'123};

ProcessEntry Trainer() {
  ProcessEntry entry;
  entry.pid = Pid(4711);
  entry.uid = kNobodyKnown;
  entry.name = "python3";
  entry.cmdline = {"python3", "träin.py", "--x\x1b[0m"};
  entry.python = "3.11.7";
  entry.container_runtime = "docker";
  entry.container = "0123456789ab";
  entry.slurm_job = "12";
  entry.slurm_step = "batch";
  entry.rank = 3;
  entry.world_size = 8;
  entry.gpu_libraries = {"libcuda", "libnccl"};
  entry.profilable = true;
  return entry;
}

ProcessEntry Forbidden() {
  ProcessEntry entry;
  entry.pid = Pid(5);
  entry.uid = kNobodyKnown;
  entry.name = "python3";
  entry.cause = "it belongs to bob";
  entry.reason = Reason::kCallerUidMismatch;
  entry.remedy = "ask bob";
  return entry;
}

TEST(PsTable, ColumnsLineUp) {
  UserNames users;
  const ProcessEntry entries[] = {Forbidden(), Trainer()};
  EXPECT_EQ(PsTable(entries, users, 0),
            " PID  USER        PYTHON  RANK  JOB       CONTAINER            GPU        COMMAND\n"
            "   5  4000000123  ?       -     -         -                    -          [python3]\n"
            "      ^ cannot be profiled: it belongs to bob -- ask bob\n"
            "4711  4000000123  3.11.7  3/8   12.batch  docker:0123456789ab  cuda,nccl  python3 träin.py --x\\x1b[0m\n");
}

TEST(PsTable, CutsLinesToTheTerminalButNoReasons) {
  UserNames users;
  const ProcessEntry entries[] = {Forbidden(), Trainer()};
  const std::string text = PsTable(entries, users, 10);
  EXPECT_EQ(text,
            " PID  USER\n"
            "   5  4000\n"
            "      ^ cannot be profiled: it belongs to bob -- ask bob\n"
            "4711  4000\n");
  EXPECT_NE(PsTable(entries, users, 89).find("python3 träin.p\n"), std::string::npos) << PsTable(entries, users, 89);
}

TEST(PsTable, ALimitIsNoRefusal) {
  UserNames users;
  ProcessEntry entry = Trainer();
  entry.cause = "traced by gdb";
  EXPECT_NE(PsTable({&entry, 1}, users, 0).find("^ limited: traced by gdb\n"), std::string::npos);
}

TEST(PsJson, HasEveryField) {
  UserNames users;
  const ProcessEntry entries[] = {Forbidden(), Trainer()};
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(PsJson(entries, users).c_str()).HasParseError());
  ASSERT_TRUE(document.IsArray());
  ASSERT_EQ(document.Size(), 2u);
  EXPECT_TRUE(document[0]["rank"].IsNull());
  EXPECT_TRUE(document[0]["python"].IsNull());
  EXPECT_FALSE(document[0]["profilable"].GetBool());
  EXPECT_STREQ(document[0]["reason"].GetString(), "it belongs to bob");
  EXPECT_STREQ(document[0]["reason_code"].GetString(), "CALLER_UID_MISMATCH");
  EXPECT_EQ(document[1]["rank"].GetInt(), 3);
  EXPECT_EQ(document[1]["uid"].GetUint(), kNobodyKnown.value);
  EXPECT_STREQ(document[1]["gpu_libraries"][1].GetString(), "libnccl");
  EXPECT_STREQ(document[1]["command_line"][2].GetString(), "--x\\x1b[0m");
}

TEST(PsJson, NothingIsAnEmptyArray) {
  UserNames users;
  EXPECT_EQ(PsJson({}, users), "[]\n");
}

TEST(UserNames, KnowRootAndNumbers) {
  UserNames users;
  EXPECT_EQ(users.Of(Uid(0)), "root");
  EXPECT_EQ(UserNames::Find("root"), Uid(0));
  EXPECT_EQ(UserNames::Find("4000000123"), kNobodyKnown);
  EXPECT_FALSE(UserNames::Find("").has_value());
  EXPECT_FALSE(UserNames::Find("12x").has_value());
  EXPECT_FALSE(UserNames::Find("-1").has_value());
}

TEST(CommandPattern, IsAnExtendedExpression) {
  EXPECT_TRUE(CommandPattern::Compile("").value().Matches("anything"));
  const CommandPattern pattern = CommandPattern::Compile("train(er)?\\.py$").value();
  EXPECT_TRUE(pattern.Matches("python3 trainer.py"));
  EXPECT_FALSE(pattern.Matches("python3 trainer_py"));
  EXPECT_TRUE(CommandPattern::Compile("(").has_error());
}

Inspection Findings() {
  Inspection found;
  found.checks = {{{}, "yama", Verdict::kLimited, "scope is 1", "run with sudo"},
                  {{}, "ptrace", Verdict::kOk, "works", ""},
                  {Pid(7), "owner", Verdict::kMissing, "belongs to bob", "ask bob", Code::kPermissionDenied}};
  return found;
}

TEST(DoctorText, GroupsAndSums) {
  EXPECT_EQ(DoctorText(Findings(), Pid(7)),
            "This node\n"
            "  limited  yama                scope is 1\n"
            "                               -> run with sudo\n"
            "  ok       ptrace              works\n"
            "\n"
            "Process 7\n"
            "  missing  owner               belongs to bob\n"
            "                               -> ask bob\n"
            "\n"
            "Process 7 cannot be profiled.\n");
}

TEST(DoctorText, AllIsWell) {
  Inspection found;
  found.checks = {{{}, "ptrace", Verdict::kOk, "works", ""}};
  EXPECT_EQ(DoctorText(found, Pid(0)),
            "This node\n  ok       ptrace              works\n\nProfiling works on this node.\n");
}

TEST(DoctorJson, SaysWhoAndWhat) {
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(DoctorJson(Findings(), Pid(7)).c_str()).HasParseError());
  EXPECT_EQ(document["pid"].GetInt(), 7);
  EXPECT_STREQ(document["result"].GetString(), "PERMISSION_DENIED");
  EXPECT_STREQ(document["checks"][0]["about"].GetString(), "node");
  EXPECT_STREQ(document["checks"][2]["about"].GetString(), "process");
  EXPECT_STREQ(document["checks"][2]["verdict"].GetString(), "missing");
}

}  // namespace
}  // namespace ptrace_prof

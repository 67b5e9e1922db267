#include <gtest/gtest.h>

#include "client/cli/record_plan.h"

namespace ptrace_prof {
namespace {

RecordOptions ForPid() { return {.pid = "4711"}; }

TEST(RecordPlan, Defaults) {
  const RecordPlan plan = MakeRecordPlan(ForPid(), {}).value();
  EXPECT_EQ(plan.request.pid, Pid(4711));
  EXPECT_EQ(plan.request.rate_hz, kDefaultRateHz);
  EXPECT_EQ(plan.request.idle, IdlePolicy::kMain);
  EXPECT_TRUE(plan.request.subprocesses);
  EXPECT_EQ(plan.request.stops, StopPolicy::kBrief);
  EXPECT_EQ(plan.format, ExportFormat::kHtml);
  EXPECT_TRUE(plan.output.starts_with("ptrace-prof-4711-")) << plan.output;
  EXPECT_TRUE(plan.output.ends_with(".html")) << plan.output;
  EXPECT_EQ(plan.spool_base, plan.output);
}

TEST(RecordPlan, TakesEveryOption) {
  RecordOptions options = ForPid();
  options.duration = "2m";
  options.rate = "1khz";
  options.output = "x.svg";
  options.threads = "5,6";
  options.idle = "all";
  options.max_overhead = "5%";
  options.max_depth = 10;
  options.gil = true;
  options.subprocesses = false;
  options.nonblocking = true;
  const RecordPlan plan = MakeRecordPlan(options, {}).value();
  EXPECT_EQ(plan.request.duration, Nanos::FromSeconds(120));
  EXPECT_EQ(plan.request.rate_hz, 1000);
  EXPECT_EQ(plan.request.threads, (std::vector<Tid>{Tid(5), Tid(6)}));
  EXPECT_EQ(plan.request.idle, IdlePolicy::kAll);
  EXPECT_DOUBLE_EQ(plan.request.max_overhead, 0.05);
  EXPECT_EQ(plan.request.max_depth, 10U);
  EXPECT_TRUE(plan.request.gil_only);
  EXPECT_FALSE(plan.request.subprocesses);
  EXPECT_EQ(plan.request.stops, StopPolicy::kNone);
  EXPECT_EQ(plan.format, ExportFormat::kSvg);
  EXPECT_EQ(plan.output, "x.svg");
}

TEST(RecordPlan, PatternsGoWithTraces) {
  RecordOptions options = ForPid();
  options.filter = {"train.*"};
  options.exclude = {"f", "g"};
  EXPECT_NE(MakeRecordPlan(options, {}).error().message.find("--filter goes with --mode trace"), std::string::npos);
  options.mode = "trace";
  const RecordPlan plan = MakeRecordPlan(options, {}).value();
  EXPECT_EQ(plan.request.trace.filter, options.filter);
  EXPECT_EQ(plan.request.trace.exclude, options.exclude);
  options.exclude = {"[f"};
  EXPECT_EQ(MakeRecordPlan(options, {}).error().message, "--exclude: '[f' is no pattern for names: a [ has no ]");
}

TEST(RecordPlan, OnlyWhatComesInCanBeForced) {
  RecordOptions options = ForPid();
  options.force = true;
  EXPECT_NE(MakeRecordPlan(options, {}).error().message.find("--force goes with --mode trace or --gpu"),
            std::string::npos);
  options.gpu = true;
  ASSERT_TRUE(MakeRecordPlan(options, {}).has_value());
  EXPECT_TRUE(MakeRecordPlan(options, {}).value().request.force);
}

TEST(RecordPlan, WhoLeavesTheChoiceToUsHasALimit) {
  RecordOptions options = ForPid();
  options.mode = "trace";
  EXPECT_EQ(MakeRecordPlan(options, {}).value().request.trace.max_overhead, 0);
  options.mode = "auto";
  EXPECT_EQ(MakeRecordPlan(options, {}).value().request.trace.max_overhead, kAutoTraceOverhead);
  options.max_overhead = "off";
  EXPECT_EQ(MakeRecordPlan(options, {}).value().request.trace.max_overhead, 0);
  options.max_overhead = "20%";
  EXPECT_DOUBLE_EQ(MakeRecordPlan(options, {}).value().request.trace.max_overhead, 0.2);
}

TEST(RecordPlan, NamesTheOutputAfterTheProgram) {
  const RecordPlan plan = MakeRecordPlan({.format = "pprof"}, {"/opt/my app/tr;ain.sh", "-x"}).value();
  EXPECT_EQ(plan.program.size(), 2U);
  EXPECT_TRUE(plan.output.starts_with("ptrace-prof-tr_ain.sh-")) << plan.output;
  EXPECT_TRUE(plan.output.ends_with(".pb.gz")) << plan.output;
}

TEST(RecordPlan, TextGoesToTheTerminal) {
  RecordOptions options = ForPid();
  options.format = "text";
  const RecordPlan plan = MakeRecordPlan(options, {}).value();
  EXPECT_EQ(plan.output, "-");
  EXPECT_NE(plan.spool_base, "-");
}

TEST(RecordPlan, SpoolsElsewhereForDevices) {
  RecordOptions options = ForPid();
  options.format = "collapsed";
  options.output = "/dev/null";
  EXPECT_FALSE(MakeRecordPlan(options, {}).value().spool_base.starts_with("/dev/"));
}

TEST(RecordPlan, RefusesContradictions) {
  RecordOptions both = ForPid();
  both.blocking = both.nonblocking = true;
  RecordOptions folder = ForPid();
  folder.output = "/tmp";
  RecordOptions extension = ForPid();
  extension.output = "x.docx";
  const Result<RecordPlan> refused[] = {
      MakeRecordPlan({}, {}),     MakeRecordPlan(ForPid(), {"ls"}), MakeRecordPlan(both, {}),
      MakeRecordPlan(folder, {}), MakeRecordPlan(extension, {}),    MakeRecordPlan({.pid = "x"}, {}),
  };
  for (const auto& plan : refused) {
    ASSERT_TRUE(plan.has_error());
    EXPECT_EQ(plan.error().code, Code::kInvalidArgument);
    EXPECT_NE(plan.error().message, "");
    EXPECT_NE(plan.error().remedy, "");
  }
}

}  // namespace
}  // namespace ptrace_prof

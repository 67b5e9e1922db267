#include "client/cli/record/record_plan.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

RecordOptions ForPid() { return {.pid = "4711"}; }

TEST(RecordPlan, Defaults) {
  const RecordPlan plan = MakeRecordPlan(ForPid(), {}, {}).value();
  EXPECT_EQ(TargetOf(plan.task), Pid(4711));
  EXPECT_EQ(plan.format, ExportFormat::kHtml);
  EXPECT_TRUE(plan.output.starts_with("ptrace-prof-4711-")) << plan.output;
  EXPECT_TRUE(plan.output.ends_with(".html")) << plan.output;
  EXPECT_EQ(plan.spool_base, plan.output);
}

TEST(RecordPlan, TakesTheSpecAndTheFormatOfTheOutput) {
  RecordOptions options = ForPid();
  options.output = "x.svg";
  v1::CaptureSpec spec;
  spec.mutable_sample()->set_rate_hz(1000);
  const RecordPlan plan = MakeRecordPlan(options, spec, {}).value();
  EXPECT_EQ(RateOf(plan.task.spec().sample()), 1000);
  EXPECT_EQ(plan.format, ExportFormat::kSvg);
  EXPECT_EQ(plan.output, "x.svg");
}

TEST(RecordPlan, NamesTheOutputAfterTheProgram) {
  const RecordPlan plan = MakeRecordPlan({.format = "pprof"}, {}, {"/opt/my app/tr;ain.sh", "-x"}).value();
  EXPECT_EQ(plan.program.size(), 2U);
  EXPECT_TRUE(plan.output.starts_with("ptrace-prof-tr_ain.sh-")) << plan.output;
  EXPECT_TRUE(plan.output.ends_with(".pb.gz")) << plan.output;
}

TEST(RecordPlan, TextGoesToTheTerminal) {
  RecordOptions options = ForPid();
  options.format = "text";
  const RecordPlan plan = MakeRecordPlan(options, {}, {}).value();
  EXPECT_EQ(plan.output, "-");
  EXPECT_NE(plan.spool_base, "-");
}

TEST(RecordPlan, SpoolsElsewhereForDevices) {
  RecordOptions options = ForPid();
  options.format = "collapsed";
  options.output = "/dev/null";
  EXPECT_FALSE(MakeRecordPlan(options, {}, {}).value().spool_base.starts_with("/dev/"));
}

TEST(RecordPlan, RefusesContradictions) {
  RecordOptions folder = ForPid();
  folder.output = "/tmp";
  RecordOptions extension = ForPid();
  extension.output = "x.docx";
  v1::CaptureSpec threads;
  threads.mutable_sample()->add_threads(7);
  const Result<RecordPlan> refused[] = {
      MakeRecordPlan({}, {}, {}),     MakeRecordPlan(ForPid(), {}, {"ls"}), MakeRecordPlan({}, threads, {"ls"}),
      MakeRecordPlan(folder, {}, {}), MakeRecordPlan(extension, {}, {}),    MakeRecordPlan({.pid = "x"}, {}, {}),
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

// Options of a capture on a command line: every flag of the table reaches its field, or is refused by name.

#include "client/cli/record/spec_options.h"

#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "client/cli/record/record_plan.h"

namespace ptrace_prof {
namespace {

Result<v1::CaptureSpec> Parsed(const std::string& line) {
  CLI::App app;
  RecordOptions options;
  SpecOptions spec;
  app.add_option("--name", options.name);
  const CLI::Option* wait = app.add_option("--wait", options.wait)->expected(0, 1);
  spec.Declare(app, [](const OptionRow&) { return true; });
  app.parse(line);
  PP_RETURN_IF_ERROR(ReadWait(wait->count() > 0, options, spec));
  return spec.Read();
}

// A value that differs from the default, as text.
std::string ValueFor(const OptionRow& row) {
  switch (row.option.kind()) {
    case v1::Option::SWITCH: return "";
    case v1::Option::CHOICE: return ChoicesOf(row).back();
    case v1::Option::SIZE: return "8M";
    case v1::Option::SHARE: return "7%";
    case v1::Option::GLOBS: return "train.*";
    case v1::Option::SCHEDULE: return "active=3";
    case v1::Option::PAIRS: return "run=baseline";
    default: return "7";
  }
}

v1::Mode ModeFor(const OptionRow& row) {
  return row.option.modes() == v1::Option::CALLS ? v1::MODE_TRACE : v1::MODE_SAMPLE;
}

TEST(SpecOptions, EachFlagReachesItsField) {
  for (const OptionRow& row : OptionTable()) {
    if (row.option.help().empty() || row.path == "mode") {
      continue;
    }
    const bool is_part = row.path.starts_with("trace.schedule.") && row.path != "trace.schedule.active";
    const std::string line = "--mode " + NameOf(ModeFor(row), SpecDoor::kCommandLine).substr(7) +
                             (is_part ? " --active 1" : "") + (row.path == "force" ? " --gpu" : "") + " " +
                             std::string(row.long_flag()) + " " + ValueFor(row);
    const auto spec = Parsed(line);
    ASSERT_TRUE(spec.has_value()) << line << ": " << spec.error().message;
    const auto plain = Parsed("--mode " + NameOf(ModeFor(row), SpecDoor::kCommandLine).substr(7));
    const auto& holder = HolderOf(row, spec.value());
    EXPECT_TRUE(IsGiven(row, spec.value())) << line;
    EXPECT_NE(holder.ShortDebugString(), HolderOf(row, plain.value()).ShortDebugString()) << line;
  }
}

TEST(SpecOptions, WhatGoesWithAnotherModeIsRefused) {
  for (const OptionRow& row : OptionTable()) {
    const bool is_shared = row.long_flag() == "--max-overhead";
    if (row.option.help().empty() || row.option.modes() == v1::Option::ALL || is_shared) {
      continue;
    }
    const std::string other = ModeFor(row) == v1::MODE_TRACE ? "sample" : "trace";
    const std::string line = "--mode " + other + " " + std::string(row.long_flag()) + " " + ValueFor(row);
    const auto spec = Parsed(line);
    ASSERT_TRUE(spec.has_error()) << line;
    EXPECT_EQ(spec.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(spec.error().message.starts_with(std::string(row.long_flag()) + " needs --mode "))
        << spec.error().message;
  }
}

TEST(SpecOptions, ShortAndOppositeFlags) {
  EXPECT_EQ(Parsed("--gpu").value().gpu(), v1::GPU_DETAIL_DEFAULT);
  EXPECT_EQ(Parsed("--gpu --gpu-detail full").value().gpu(), v1::GPU_DETAIL_FULL);
  EXPECT_EQ(Parsed("--idle").value().sample().idle(), v1::IDLE_POLICY_ALL);
  EXPECT_EQ(Parsed("--idle none").value().sample().idle(), v1::IDLE_POLICY_NONE);
  EXPECT_FALSE(Parsed("--subprocesses").value().sample().no_subprocesses());
  EXPECT_TRUE(Parsed("--no-subprocesses").value().sample().no_subprocesses());
  EXPECT_TRUE(Parsed("--no-stops").value().sample().nonblocking());
  EXPECT_EQ(RateOf(Parsed("--rate max").value().sample()), 0);
  EXPECT_EQ(OverheadLimitOf(Parsed("--max-overhead off").value().sample()), 0);
  EXPECT_EQ(Parsed("--filter a --filter b,c --mode trace").value().trace().filter_size(), 2);
}

TEST(SpecOptions, ALimitIsOfWhatTheModeRecords) {
  EXPECT_DOUBLE_EQ(Parsed("--max-overhead 5%").value().sample().max_overhead(), 0.05);
  const v1::CaptureSpec traced = Parsed("--mode trace --max-overhead 6%").value();
  EXPECT_DOUBLE_EQ(traced.trace().max_overhead(), 0.06);
  EXPECT_FALSE(traced.sample().has_max_overhead());
  const v1::CaptureSpec either = Parsed("--mode auto --max-overhead 6%").value();
  EXPECT_DOUBLE_EQ(either.trace().max_overhead(), 0.06);
  EXPECT_DOUBLE_EQ(either.sample().max_overhead(), 0.06);
  EXPECT_DOUBLE_EQ(Parsed("--mode auto").value().trace().max_overhead(), kAutoTraceOverhead);
  EXPECT_EQ(Parsed("--mode auto --max-overhead off").value().trace().max_overhead(), 0);
}

TEST(SpecOptions, ASchedule) {
  const v1::CaptureSpec parts =
      Parsed("--mode trace --skip-first 10 --wait 1 --warmup 2 --active 3 --repeat 4").value();
  const v1::CaptureSpec whole =
      Parsed("--mode trace --schedule skip_first=10,wait=1,warmup=2,active=3,repeat=4").value();
  EXPECT_EQ(parts.SerializeAsString(), whole.SerializeAsString());
  EXPECT_EQ(whole.trace().schedule().wait(), 1U);
  EXPECT_EQ(Parsed("--mode trace --name train --wait 5s --schedule wait=2,active=1").value().trace().schedule().wait(),
            2U);
}

struct Refusal {
  const char* line;
  const char* named;
};

TEST(SpecOptions, RefusalsNameTheOptionAndWhatToDo) {
  const Refusal rows[] = {
      {"--mode trace --steps 0", "--steps: '0'"},
      {"--mode trace --steps=-1", "--steps: '-1'"},
      {"--mode trace --steps 1.5", "--steps: '1.5'"},
      {"--mode trace --steps 99999999999999", "--steps"},
      {"--mode trace --active 1000000001", "--active"},
      {"--mode trace --warmup 1", "--active is missing"},
      {"--mode trace --active 0", "--active: '0'"},
      {"--mode trace --active 1 --repeat x", "--repeat: 'x'"},
      {"--mode trace --active 1 --wait", "--wait: ''"},
      {"--mode trace --active 1 --wait 5s", "--wait: '5s'"},
      {"--wait 1", "--wait"},
      {"--name train --wait --active 1", "--name"},
      {"--mode trace --active 1 --steps 1", "--steps"},
      {"--mode trace --schedule active=1 --steps 1", "--steps"},
      {"--mode trace --schedule active=1 --active 1", "--schedule"},
      {"--mode trace --schedule wait=1", "active"},
      {"--steps 1", "--steps needs --mode trace"},
      {"--mode trace --on-full block", "'block'"},
      {"--mode nonsense", "--mode: 'nonsense'"},
      {"--mode trace --exclude [f", "--exclude: '[f' is not a valid pattern: a [ has no ]"},
      {"--mode trace --buffer 1K", "--buffer is 1024"},
      {"--mode trace --buffer much", "'much' is not a size"},
      {"--rate 0", "'0' is not a sampling rate"},
      {"--rate 200001", "--rate is 200001"},
      {"--threads 12,", "--threads: ''"},
      {"--threads MainThread", "--threads: 'MainThread'"},
      {"--max-depth 0", "--max-depth: '0'"},
      {"--max-depth 1000001", "--max-depth is 1000001"},
      {"--max-overhead 101%", "'101%'"},
      {"--blocking --nonblocking", "--nonblocking forbids stops"},
      {"--force", "--force needs traced calls, --gpu or --torch on:"},
      {"-d 0", "'0' is not a duration"},
      {"-d 367d", "'367d' is not a duration"},
  };
  for (const Refusal& row : rows) {
    const auto spec = Parsed(row.line);
    ASSERT_TRUE(spec.has_error()) << row.line;
    EXPECT_EQ(spec.error().code, Code::kInvalidArgument) << row.line;
    EXPECT_NE(spec.error().message.find(row.named), std::string::npos) << spec.error().message;
    EXPECT_NE(spec.error().remedy, "") << row.line;
  }
}

}  // namespace
}  // namespace ptrace_prof

// A task survives its conversion into an argument and back, and an argument may hold anything.

#include <gtest/gtest.h>

#include "attach/base/hexadecimal.h"
#include "rpc/messages/task_from_message.h"
#include "rpc/messages/task_word.h"

namespace ptrace_prof {
namespace {

CaptureTask Task() {
  CaptureTask task;
  SetTarget(Pid(7), &task);
  return task;
}

Result<CaptureTask> ThereAndBack(const CaptureTask& task) { return DecodeTask(EncodeTask(task)); }

TEST(TaskWord, LosesNothing) {
  CaptureTask all = Task();
  v1::CaptureSpec& spec = *all.mutable_spec();
  spec.mutable_target()->set_start_time_ticks(12'345);
  spec.set_mode(v1::MODE_AUTO);
  spec.set_gpu(v1::GPU_DETAIL_FULL);
  spec.mutable_sample()->set_rate_hz(12.5);
  spec.mutable_sample()->add_threads(8);
  spec.mutable_trace()->add_filter("a,b");
  spec.mutable_trace()->add_filter("=");
  spec.mutable_trace()->mutable_schedule()->set_active(4);
  SetNanos(Nanos(9), all.mutable_longest());
  all.set_child_rules("{}");
  const auto back = ThereAndBack(all);
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back.value().SerializeAsString(), all.SerializeAsString());
}

TEST(TaskWord, WhatIsAboutTheNodeNeedsNoTarget) {
  for (const auto verb : {CaptureTask::LIST, CaptureTask::DOCTOR}) {
    CaptureTask task;
    task.set_verb(verb);
    const auto back = ThereAndBack(task);
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(back.value().verb(), verb);
  }
  CaptureTask doctor = Task();
  doctor.set_verb(CaptureTask::DOCTOR);
  EXPECT_EQ(TargetOf(ThereAndBack(doctor).value()), Pid(7));
}

TEST(TaskWord, IsCheckedByWhoReadsIt) {
  const std::pair<const char*, void (*)(CaptureTask&)> rows[] = {
      {"no target", [](CaptureTask& task) { task.mutable_spec()->clear_target(); }},
      {"a dump without a target",
       [](CaptureTask& task) {
         task.set_verb(CaptureTask::DUMP);
         task.mutable_spec()->clear_target();
       }},
      {"a list of one", [](CaptureTask& task) { task.set_verb(CaptureTask::LIST); }},
      {"a verb of the future", [](CaptureTask& task) { task.set_verb(static_cast<CaptureTask::Verb>(99)); }},
      {"a dump of calls",
       [](CaptureTask& task) {
         task.set_verb(CaptureTask::DUMP);
         task.mutable_spec()->set_mode(v1::MODE_TRACE);
       }},
      {"locals of a recording", [](CaptureTask& task) { task.set_locals(true); }},
      {"two lines", [](CaptureTask& task) { task.set_sampled_because("two\nlines"); }},
      {"a novel", [](CaptureTask& task) { task.set_sampled_because(std::string(kMaxSentence + 1, 'x')); }},
      {"a time before all", [](CaptureTask& task) { task.mutable_longest()->set_seconds(-1); }},
      {"a rate", [](CaptureTask& task) { task.mutable_spec()->mutable_sample()->set_rate_hz(1e9); }},
      {"a field of the future",
       [](CaptureTask& task) { task.GetReflection()->MutableUnknownFields(&task)->AddVarint(12345, 1); }},
  };
  ASSERT_TRUE(ThereAndBack(Task()).has_value());
  for (const auto& [what, change] : rows) {
    CaptureTask task = Task();
    change(task);
    EXPECT_TRUE(ThereAndBack(task).has_error()) << what;
  }
}

TEST(TaskWord, MayBeAnything) {
  for (const std::string& word :
       std::vector<std::string>{"", "task", "task=xyz", "task=0", "pid=1", "task=" + ToHexadecimal("\xff\xff\xff"),
                                "task=" + ToHexadecimal(std::string(1000, '\x0a'))}) {
    const auto task = DecodeTask(word);
    ASSERT_TRUE(task.has_error()) << word;
    EXPECT_EQ(task.error().code, Code::kInvalidArgument);
    EXPECT_LT(task.error().message.size(), 200U);
  }
}

TEST(TaskFromMessage, OfADumpLosesNothing) {
  v1::DumpStacksRequest dump;
  dump.mutable_target()->set_pid(7);
  dump.set_locals(true);
  dump.set_no_subprocesses(true);
  dump.set_nonblocking(true);
  dump.set_max_depth(99);
  const auto task = TaskFrom(dump);
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_EQ(task.value().verb(), CaptureTask::DUMP);
  EXPECT_EQ(task.value().spec().sample().idle(), v1::IDLE_POLICY_ALL);
  EXPECT_EQ(StopsOf(task.value().spec().sample()), StopPolicy::kNone);
  EXPECT_EQ(DumpRequestOf(task.value()).SerializeAsString(), dump.SerializeAsString());
  dump.set_blocking(true);
  EXPECT_TRUE(TaskFrom(dump).has_error());
}

TEST(SerialisedSpec, IsTheSameForTheSame) {
  v1::CaptureSpec spec = Task().spec();
  const std::string one = SerialisedSpec(spec);
  EXPECT_EQ(SerialisedSpec(v1::CaptureSpec(spec)), one);
  spec.set_keep(true);
  EXPECT_NE(SerialisedSpec(spec), one);
}

}  // namespace
}  // namespace ptrace_prof

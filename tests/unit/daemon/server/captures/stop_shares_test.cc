#include "daemon/server/captures/stop_shares.h"

#include <gtest/gtest.h>

#include <map>

namespace ptrace_prof {
namespace {

// 20 and 30 are children of 10, 21 is a child of 20; 40 has no parent among them.
Pid Parent(Pid pid) {
  static const std::map<int32_t, int32_t> parents = {{10, 1}, {20, 10}, {30, 10}, {21, 20}, {40, 1}};
  const auto found = parents.find(pid.value);
  return found == parents.end() ? Pid() : Pid(found->second);
}

std::vector<uint8_t> Meeting(const std::vector<CaptureTask>& captures) {
  std::vector<const CaptureTask*> all;
  for (const CaptureTask& one : captures) {
    all.push_back(&one);
  }
  return MeetingCaptures(all, Parent);
}

CaptureTask TaskOn(int32_t pid) {
  CaptureTask request;
  request.set_verb(CaptureTask::RECORD);
  request.mutable_spec()->set_mode(v1::MODE_SAMPLE);
  SetTarget(Pid(pid), &request);
  request.mutable_spec()->mutable_sample()->set_no_subprocesses(false);
  return request;
}

using Counts = std::vector<uint8_t>;

TEST(StopShares, OneAlone) { EXPECT_EQ(Meeting({TaskOn(10)}), Counts{1}); }

TEST(StopShares, TheSameProcess) {
  EXPECT_EQ(Meeting({TaskOn(20), TaskOn(20), TaskOn(40), TaskOn(20)}), (Counts{3, 3, 1, 3}));
}

TEST(StopShares, AProcessAndItsDescendants) {
  EXPECT_EQ(Meeting({TaskOn(10), TaskOn(21), TaskOn(30)}), (Counts{3, 2, 2}));
  CaptureTask alone = TaskOn(10);
  alone.mutable_spec()->mutable_sample()->set_no_subprocesses(true);
  EXPECT_EQ(Meeting({alone, TaskOn(21), TaskOn(30)}), (Counts{1, 1, 1}));
}

TEST(StopShares, WhoStopsNobodyCountsForNone) {
  CaptureTask torn = TaskOn(20), trace = TaskOn(20), dump = TaskOn(20);
  torn.mutable_spec()->mutable_sample()->set_nonblocking(true);
  trace.mutable_spec()->set_mode(v1::MODE_TRACE);
  dump.set_verb(CaptureTask::DUMP);
  EXPECT_EQ(Meeting({TaskOn(20), torn, trace, dump, TaskOn(20)}), (Counts{2, 1, 1, 1, 2}));
}

TEST(StopShares, NoMoreThanAByteReports) {
  EXPECT_EQ(Meeting(std::vector<CaptureTask>(300, TaskOn(20))), Counts(300, 255));
}

TEST(StopShares, ParentsOfLivingProcesses) {
  EXPECT_EQ(ParentInProc(Pid(::getpid())), Pid(::getppid()));
  EXPECT_EQ(ParentInProc(Pid(1 << 30)), Pid());
}

}  // namespace
}  // namespace ptrace_prof

#include <gtest/gtest.h>

#include <map>

#include "daemon/session/stop_shares.h"

namespace ptrace_prof {
namespace {

// 20 and 30 are children of 10, 21 is one of 20's; 40 is nobody's.
Pid Parent(Pid pid) {
  static const std::map<int32_t, int32_t> parents = {{10, 1}, {20, 10}, {30, 10}, {21, 20}, {40, 1}};
  const auto found = parents.find(pid.value);
  return found == parents.end() ? Pid() : Pid(found->second);
}

std::vector<uint8_t> Meeting(const std::vector<CaptureRequest>& captures) {
  std::vector<const CaptureRequest*> all;
  for (const CaptureRequest& one : captures) {
    all.push_back(&one);
  }
  return MeetingCaptures(all, Parent);
}

CaptureRequest Of(int32_t pid) {
  CaptureRequest request;
  request.verb = CaptureVerb::kRecord;
  request.mode = CaptureMode::kSample;
  request.pid = Pid(pid);
  request.subprocesses = true;
  return request;
}

using Counts = std::vector<uint8_t>;

TEST(StopShares, OneAlone) { EXPECT_EQ(Meeting({Of(10)}), Counts{1}); }

TEST(StopShares, TheSameProcess) { EXPECT_EQ(Meeting({Of(20), Of(20), Of(40), Of(20)}), (Counts{3, 3, 1, 3})); }

TEST(StopShares, AProcessAndItsDescendants) {
  EXPECT_EQ(Meeting({Of(10), Of(21), Of(30)}), (Counts{3, 2, 2}));
  CaptureRequest alone = Of(10);
  alone.subprocesses = false;
  EXPECT_EQ(Meeting({alone, Of(21), Of(30)}), (Counts{1, 1, 1}));
}

TEST(StopShares, WhoStopsNobodyCountsForNone) {
  CaptureRequest torn = Of(20), trace = Of(20), dump = Of(20);
  torn.stops = StopPolicy::kNone;
  trace.mode = CaptureMode::kTrace;
  dump.verb = CaptureVerb::kDump;
  EXPECT_EQ(Meeting({Of(20), torn, trace, dump, Of(20)}), (Counts{2, 1, 1, 1, 2}));
}

TEST(StopShares, NoMoreThanAByteTells) {
  EXPECT_EQ(Meeting(std::vector<CaptureRequest>(300, Of(20))), Counts(300, 255));
}

TEST(StopShares, ParentsOfLivingProcesses) {
  EXPECT_EQ(ParentInProc(Pid(::getpid())), Pid(::getppid()));
  EXPECT_EQ(ParentInProc(Pid(1 << 30)), Pid());
}

}  // namespace
}  // namespace ptrace_prof

#include "client/cli/inspect/named_target.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

ProcessEntry Entry(int pid, int parent, const std::string& script, ProcessKind kind = ProcessKind::kPython) {
  ProcessEntry entry;
  entry.pid = Pid(pid);
  entry.parent_pid = Pid(parent);
  entry.kind = kind;
  entry.name = "python3";
  entry.cmdline = {"python3", script};
  return entry;
}

std::vector<int32_t> Pids(const std::vector<ProcessEntry>& entries, const std::string& pattern, int ourselves = 1) {
  std::vector<int32_t> pids;
  for (const ProcessEntry& match : MatchesOf(entries, CommandPattern::Compile(pattern).value(), Pid(ourselves))) {
    pids.push_back(match.pid.value);
  }
  return pids;
}

TEST(NamedTarget, LooksAtCommandLines) {
  const std::vector<ProcessEntry> entries = {Entry(10, 1, "train.py"), Entry(11, 1, "serve.py")};
  EXPECT_EQ(Pids(entries, "train\\.py"), (std::vector{10}));
  EXPECT_EQ(Pids(entries, "python3 (train|serve)"), (std::vector{10, 11}));
  EXPECT_EQ(Pids(entries, "nothing"), std::vector<int>());
}

TEST(NamedTarget, LeavesOutWhoIsRecordedWithAnother) {
  const std::vector<ProcessEntry> entries = {Entry(10, 1, "train.py"), Entry(11, 10, "helper.py"),
                                             Entry(12, 11, "train.py"), Entry(13, 10, "train.py")};
  EXPECT_EQ(Pids(entries, "train"), (std::vector{10}));
  EXPECT_EQ(Pids(entries, "helper"), (std::vector{11}));
}

TEST(NamedTarget, LeavesOutOurselvesAndWhatRunsNoPython) {
  const std::vector<ProcessEntry> entries = {Entry(10, 1, "x"), Entry(11, 1, "x", ProcessKind::kLibraryOnly),
                                             Entry(12, 1, "x", ProcessKind::kEnded), Entry(13, 1, "x")};
  EXPECT_EQ(Pids(entries, "x", 13), (std::vector{10}));
}

TEST(NamedTarget, ALoopOfParentsEnds) {
  const std::vector<ProcessEntry> entries = {Entry(10, 11, "y"), Entry(11, 10, "y"), Entry(12, 10, "x")};
  EXPECT_EQ(Pids(entries, "x"), (std::vector{12}));
}

}  // namespace
}  // namespace ptrace_prof

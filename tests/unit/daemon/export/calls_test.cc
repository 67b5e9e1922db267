// Exact calls in every format: counts, times, nesting, and what a truncated trace still gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "daemon/export/call_table.h"
#include "daemon/export/function_table.h"
#include "daemon/trace/read/trace_reader.h"
#include "tests/unit/daemon/export/exporting.h"
#include "tests/unit/daemon/export/sample_trace.h"

namespace ptrace_prof {
namespace {

class CallTableTest : public testing::Test {
 protected:
  StackId Stack(const std::vector<std::string>& names) {
    StackId stack = kEmptyStack;
    for (const std::string& name : names) {
      Frame frame;
      frame.function = name;
      frame.kind = name == "len" ? FrameKind::kC : FrameKind::kPython;
      stack = stacks.InternStack(stack, stacks.InternFrame(frame));
    }
    return stack;
  }
  void Add(const std::vector<std::string>& names, uint64_t calls, int64_t nanos) {
    totals.push_back({TrackId(0), Stack(names), calls, calls, Nanos(nanos)});
  }
  CallRow Row(const std::string& name, EventCost cost = {}) {
    FunctionTable functions(stacks, false);
    std::sort(totals.begin(), totals.end(), [](const auto& a, const auto& b) { return a.stack < b.stack; });
    const std::vector<Nanos> times = CorrectedTimes(totals, stacks, cost);
    for (const CallRow& row : CallRows(totals, times, functions)) {
      if (functions.function(row.function).name == name) {
        return row;
      }
    }
    return {};
  }
  StackTable stacks;
  std::vector<StackTotal> totals;
};

TEST_F(CallTableTest, RecursionCountsOnceInTotal) {
  Add({"main"}, 1, 100);
  Add({"main", "fib"}, 2, 30);
  Add({"main", "fib", "fib"}, 4, 20);
  Add({"main", "fib", "fib", "len"}, 3, 6);
  EXPECT_EQ(Row("fib").calls, 6);
  EXPECT_EQ(Row("fib").self, Nanos(50));
  EXPECT_EQ(Row("fib").total, Nanos(56));
  EXPECT_EQ(Row("main").total, Nanos(156));
  EXPECT_EQ(Row("len").self, Nanos(6));
}

TEST_F(CallTableTest, TheTracersCostIsTakenOffTheCallAndItsCaller) {
  Add({"main"}, 1, 1000);
  Add({"main", "fib"}, 2, 300);
  Add({"main", "fib", "fib"}, 4, 200);
  Add({"main", "fib", "fib", "len"}, 3, 6);
  const EventCost cost{.python_ns = 10, .c_ns = 4};
  EXPECT_EQ(Row("main", cost).self, Nanos(1000 - 10 - 2 * 10));
  EXPECT_EQ(Row("fib", cost).self, Nanos(300 - 2 * 10 - 4 * 10 + 200 - 4 * 10 - 3 * 4));
  EXPECT_EQ(Row("fib", cost).raw_self, Nanos(500));
  EXPECT_EQ(Row("len", cost).self, Nanos(0));  // never below zero
  EXPECT_EQ(Row("len", cost).raw_total, Nanos(6));
  EXPECT_EQ(Row("main", cost).total, Nanos(970 + 388));
}

TEST(ExactCallsTest, CollapsedWeightsAreNanosecondsOfSelfTime) {
  const Exported exported = Export(CallTrace(), ExportFormat::kCollapsed);
  ASSERT_TRUE(exported.result.has_value());
  std::map<std::string, int64_t> lines;
  int64_t all = 0;
  for (size_t at = 0; at < exported.bytes.size();) {
    const size_t end = exported.bytes.find('\n', at);
    const std::string line = exported.bytes.substr(at, end - at);
    const size_t space = line.rfind(' ');
    const size_t leaf = line.rfind(';', space) + 1;
    const std::string name = line.substr(leaf, line.find_first_of(" (", leaf) - leaf);
    lines[name] += std::stoll(line.substr(space));
    all += std::stoll(line.substr(space));
    at = end + 1;
  }
  EXPECT_EQ(all, 6000 + 5000);
  EXPECT_EQ(lines["<module>"], 3200);
  EXPECT_EQ(lines["Trainer.train"], 700);
  EXPECT_EQ(lines["fib"], 280);
  EXPECT_EQ(lines["len"], 20);
  EXPECT_EQ(lines["batches"], 300);
  EXPECT_EQ(lines["[events"], 1000);
  EXPECT_EQ(lines["load"], 5000);
}

TEST(ExactCallsTest, ThreadsCanBeChosen) {
  const Exported exported = Export(CallTrace(), ExportFormat::kCollapsed, {.threads = {"loader"}});
  ASSERT_TRUE(exported.result.has_value());
  EXPECT_EQ(exported.bytes, "load (/srv/job/train.py:8) 5000\n");
  EXPECT_EQ(exported.result.value().samples, 1);
  EXPECT_EQ(exported.result.value().filtered, 9);
}

TEST(ExactCallsTest, EveryFormatOpensATraceCutAnywhere) {
  const std::string trace = CallTrace();
  for (const FormatInfo& info : FormatsOfAnyTrace()) {
    for (size_t size = 0; size < trace.size(); size += 31) {
      const Exported exported = Export(trace.substr(0, size), info.format);
      ASSERT_TRUE(exported.result.has_value()) << info.name << " at " << size;
      EXPECT_TRUE(exported.result.value().cut) << info.name << " at " << size;
    }
  }
}

}  // namespace
}  // namespace ptrace_prof

// When streams were being captured, from calls that come in any order.
#include "daemon/collector/gpu/gpu_graph_captures.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

TEST(GpuGraphCaptures, LastFromTheirBeginToTheirEndInWhateverOrderTheyAreReported) {
  GpuGraphCaptures captures;
  EXPECT_FALSE(captures.Covers(Nanos(50)));
  captures.End(Nanos(300));
  EXPECT_TRUE(captures.Covers(Nanos(50))) << "it had begun before";
  EXPECT_FALSE(captures.Covers(Nanos(300)));
  captures.Begin(Nanos(100));
  EXPECT_FALSE(captures.Covers(Nanos(50)));
  EXPECT_TRUE(captures.Covers(Nanos(200)));
  captures.Begin(Nanos(150));
  captures.End(Nanos(250));
  EXPECT_TRUE(captures.Covers(Nanos(260))) << "of two one goes on";
  captures.Begin(Nanos(400));
  EXPECT_FALSE(captures.Covers(Nanos(350)));
  EXPECT_TRUE(captures.Covers(Nanos(1000))) << "it did not end";
}

// A hostile target makes up millions of captures, each before the last.
TEST(GpuGraphCaptures, CostNoMoreThanTheyAreWorth) {
  GpuGraphCaptures captures;
  for (int64_t i = 0; i < 3'000'000; ++i) {
    captures.Begin(Nanos(-i));
  }
  EXPECT_TRUE(captures.Covers(Nanos(1)));
}

TEST(GpuGraphCaptures, AreBounded) {
  GpuGraphCaptures captures;
  captures.Begin(Nanos(0));
  for (int64_t i = 1; i < 10'000; ++i) {
    captures.Begin(Nanos(10 * i));
    captures.End(Nanos(10 * i + 5));
  }
  EXPECT_TRUE(captures.Covers(Nanos(99'998))) << "the first one, long forgotten, goes on";
}

}  // namespace
}  // namespace ptrace_prof

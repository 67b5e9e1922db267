// Threads that follow each other at one address, in whatever order their rings are read.
#include "daemon/collector/target/thread_table.h"

#include <gtest/gtest.h>

#include <memory>

namespace ptrace_prof {
namespace {

constexpr RemoteAddr kState(0x1000), kOther(0x2000);

TEST(ThreadTable, ThreadsAtOneAddressAreReported) {
  ThreadTable<int> table;
  EXPECT_EQ(table.Find(kState, Tid(7)), nullptr);
  table.Put(kState, Tid(8), std::make_unique<int>(8));  // found at the arming stop
  EXPECT_EQ(table.Find(kState, Tid(7)), nullptr);       // a ring of a thread that ended before
  table.Put(kState, Tid(7), std::make_unique<int>(7));
  EXPECT_EQ(*table.Find(kState, Tid(8)), 8);
  EXPECT_EQ(*table.Find(kState, Tid(7)), 7);
  EXPECT_EQ(table.Find(kOther, Tid(7)), nullptr);
  EXPECT_EQ(table.size(), 2);
}

TEST(ThreadTable, OneWhoseKernelThreadIsUnknownIsTheFirstThatAsks) {
  ThreadTable<int> table;
  table.Put(kState, Tid(), std::make_unique<int>(1));
  EXPECT_EQ(*table.Find(kState, Tid(5)), 1);
  EXPECT_EQ(table.Find(kState, Tid(6)), nullptr);
  EXPECT_EQ(*table.Find(kState, Tid(5)), 1);
}

TEST(ThreadTable, TheLastOneCounts) {
  ThreadTable<int> table;
  table.Put(kState, Tid(5), std::make_unique<int>(1));
  table.Put(kState, Tid(5), std::make_unique<int>(2));  // the kernel assigned the number again
  EXPECT_EQ(*table.Find(kState, Tid(5)), 2);
  int sum = 0;
  table.ForEach([&](int value) { sum += value; });
  EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace ptrace_prof

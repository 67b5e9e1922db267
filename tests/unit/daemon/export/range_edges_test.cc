// Ranges nest with the calls that begin and end them.
#include "daemon/export/range_edges.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

constexpr OperatorThread kThread{1, 1};
using Times = std::pair<Nanos, Nanos>;

TEST(RangeEdgesTest, ARangeIsTheBodyOfItsWith) {
  RangeEdges edges;
  edges.AddCall(kThread, Nanos(12), Nanos(18));  // __enter__ in another __enter__; that which ends first comes first
  edges.AddCall(kThread, Nanos(10), Nanos(20));
  edges.AddCall(kThread, Nanos(30), Nanos(40));  // of something inside
  edges.AddCall(kThread, Nanos(90), Nanos(95));
  edges.AddCall(kThread, Nanos(85), Nanos(100));
  EXPECT_EQ(edges.Fit(kThread, Nanos(15), Nanos(93)), Times(20, 85));
  EXPECT_EQ(edges.Fit({1, 2}, Nanos(15), Nanos(93)), Times(15, 93));
}

TEST(RangeEdgesTest, WhatNestsStays) {
  RangeEdges edges;
  edges.AddCall(kThread, Nanos(10), Nanos(100));  // a whole range in an __enter__
  EXPECT_EQ(edges.Fit(kThread, Nanos(20), Nanos(30)), Times(20, 30));
  EXPECT_EQ(edges.Fit(kThread, Nanos(200), Nanos(300)), Times(200, 300));
  edges.AddCall(kThread, Nanos(25), Nanos(28));
  EXPECT_EQ(edges.Fit(kThread, Nanos(20), Nanos(30)), Times(20, 30));
}

TEST(RangeEdgesTest, MethodsByTheirNames) {
  for (const std::string_view name : {"record_function.__enter__", "__exit__"}) {
    EXPECT_TRUE(RangeEdges::Matters(name)) << name;
  }
  EXPECT_FALSE(RangeEdges::Matters("enter"));
}

}  // namespace
}  // namespace ptrace_prof

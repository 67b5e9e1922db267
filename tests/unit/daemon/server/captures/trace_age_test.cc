#include "daemon/server/captures/trace_age.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

TEST(TraceAge, CountsFromWhenTheEndWasFirstSeen) {
  TraceAge age;
  EXPECT_EQ(age.At(Nanos(1000)), Nanos(0));
  EXPECT_EQ(age.At(Nanos(1700)), Nanos(700));
}

TEST(TraceAge, WhatEndedBeforeWeWereIsOlderByThat) {
  TraceAge age(Nanos(5000));
  EXPECT_EQ(age.At(Nanos(1000)), Nanos(5000));
  EXPECT_EQ(age.At(Nanos(1700)), Nanos(5700));
}

TEST(TraceAge, AnEndThatLiesAheadIsNow) {
  TraceAge age(Nanos(-5000));
  EXPECT_EQ(age.At(Nanos(1000)), Nanos(0));
}

}  // namespace
}  // namespace ptrace_prof

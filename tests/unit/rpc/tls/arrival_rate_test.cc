#include "rpc/tls/arrival_rate.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

constexpr Nanos kInterval = Nanos::FromMillis(20);
constexpr Nanos kBegin = Nanos::FromSeconds(1000);

int CountAdmitted(ArrivalRate& rate, const std::string& host, int tries, Nanos now) {
  int admitted = 0;
  for (int i = 0; i < tries; ++i) {
    admitted += rate.Admit(host, now) ? 1 : 0;
  }
  return admitted;
}

TEST(ArrivalRateTest, LetsSomeInAtOnceAndThenSoManyASecond) {
  ArrivalRate rate(kInterval, 10, 100);
  EXPECT_EQ(CountAdmitted(rate, "a", 1000, kBegin), 10);
  EXPECT_EQ(CountAdmitted(rate, "a", 1000, kBegin + kInterval), 1) << "who was refused is not held back for that";
  EXPECT_EQ(CountAdmitted(rate, "a", 1000, kBegin + Nanos::FromSeconds(1)), 10);
  int admitted = 0;
  for (int ms = 1; ms <= 1000; ++ms) {
    admitted += CountAdmitted(rate, "a", 5, kBegin + Nanos::FromSeconds(1) + Nanos::FromMillis(ms));
  }
  EXPECT_EQ(admitted, 50);
}

TEST(ArrivalRateTest, IsOfEachHost) {
  ArrivalRate rate(kInterval, 10, 100);
  EXPECT_EQ(CountAdmitted(rate, "a", 20, kBegin), 10);
  EXPECT_EQ(CountAdmitted(rate, "b", 20, kBegin), 10);
}

TEST(ArrivalRateTest, RemembersOnlySoManyAndForgetsTheQuiet) {
  ArrivalRate rate(kInterval, 10, 100);
  int admitted = 0;
  for (int host = 0; host < 10'000; ++host) {
    admitted += rate.Admit(std::to_string(host), kBegin) ? 1 : 0;
  }
  EXPECT_EQ(admitted, 110) << "hosts without a place are one host together";
  EXPECT_LE(rate.CountKnown(), 101u);
  EXPECT_FALSE(rate.Admit("another", kBegin));
  EXPECT_TRUE(rate.Admit("another", kBegin + Nanos::FromSeconds(60)));
  EXPECT_EQ(rate.CountKnown(), 1u);
}

}  // namespace
}  // namespace ptrace_prof

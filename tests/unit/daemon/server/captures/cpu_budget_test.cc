// What a new capture gets from a budget, and what the registry does with that.

#include "daemon/server/captures/cpu_budget.h"

#include <gtest/gtest.h>

#include "rpc/messages/check_spec.h"
#include "tests/unit/daemon/server/captures/played_captures.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {
namespace {

CaptureTask Sampling(double max_overhead) {
  CaptureTask request;
  SetTarget(Pid(7), &request);
  request.mutable_spec()->mutable_sample()->set_max_overhead(max_overhead);
  FillDefaults(request.mutable_spec());
  return request;
}

CaptureTask WithMode(v1::Mode mode) {
  CaptureTask request = Sampling(0.01);
  request.mutable_spec()->set_mode(mode);
  return request;
}

struct Case {
  double asked;
  double left;
  std::optional<double> granted;
  bool is_less = false;
};

TEST(CpuBudget, WhoAsksForMuchGetsHalfOfWhatIsLeft) {
  constexpr Case kCases[] = {
      {.asked = 0.01, .left = 1, .granted = 0.01},
      {.asked = 0.01, .left = 0.01, .granted = 0.01},  // all that is left, to an ordinary capture
      {.asked = 0.01, .left = 0.009, .granted = {}},
      {.asked = 0.002, .left = 0.003, .granted = 0.002},
      {.asked = 0.5, .left = 1, .granted = 0.5},
      {.asked = 0.6, .left = 1, .granted = 0.5, .is_less = true},
      {.asked = 0, .left = 1, .granted = 0.5, .is_less = true},  // no limit
      {.asked = 0, .left = 0.015, .granted = 0.01, .is_less = true},
      {.asked = 0, .left = 0.005, .granted = {}},
      {.asked = 0.01, .left = -1, .granted = {}},
  };
  for (const Case& one : kCases) {
    SCOPED_TRACE(testing::Message() << one.asked << " of " << one.left);
    const auto grant = GrantCpu(Sampling(one.asked), one.left);
    ASSERT_EQ(grant.has_value(), one.granted.has_value());
    if (grant.has_value()) {
      EXPECT_DOUBLE_EQ(grant->cores, *one.granted);
      EXPECT_EQ(grant->is_less, one.is_less);
    }
  }
}

TEST(CpuBudget, TracingTakesAFixedShareOrWhatItUses) {
  EXPECT_FALSE(GrantCpu(WithMode(v1::MODE_TRACE), 0.09).has_value());
  EXPECT_DOUBLE_EQ(GrantCpu(WithMode(v1::MODE_TRACE), 0.1).value().cores, 0.1);
  EXPECT_DOUBLE_EQ(GrantCpu(WithMode(v1::MODE_AUTO), 0.1).value().cores, 0.1);
  CaptureParameters parameters;
  parameters.request = WithMode(v1::MODE_TRACE);
  parameters.cpu_cores = 0.1;
  CaptureSnapshot now;
  now.cpu = Nanos::FromSeconds(1);
  now.totals.wall = Nanos::FromSeconds(1);
  EXPECT_DOUBLE_EQ(CpuTaken(parameters, now), 0.1) << "its start is not what it will use";
  now.cpu = Nanos::FromSeconds(5);
  now.totals.wall = Nanos::FromSeconds(10);
  EXPECT_DOUBLE_EQ(CpuTaken(parameters, now), 0.5);
  now.cpu = Nanos::FromSeconds(1e6);
  EXPECT_DOUBLE_EQ(CpuTaken(parameters, now), 1) << "whatever a collector says of itself";
  now.cpu = Nanos::FromSeconds(5);
  parameters.request.mutable_spec()->set_mode(v1::MODE_AUTO);
  now.mode = v1::MODE_SAMPLE;
  EXPECT_DOUBLE_EQ(CpuTaken(parameters, now), 0.1) << "samples keep to what they may use";
}

TEST(CpuBudget, NothingLimitedStaysUnlimited) {
  CaptureTask request = Sampling(0);
  request.mutable_spec()->mutable_sample()->clear_rate_hz();
  request.mutable_spec()->mutable_sample()->set_as_fast_as_possible(true);
  NarrowTo(GrantCpu(request, 1).value(), request);
  EXPECT_DOUBLE_EQ(OverheadLimitOf(request.spec().sample()), 0.5);
  EXPECT_GT(RateOf(request.spec().sample()), 0) << "as fast as possible knows no limit";
  request = WithMode(v1::MODE_AUTO);
  request.mutable_spec()->mutable_sample()->set_max_overhead(0);
  NarrowTo(GrantCpu(request, 1).value(), request);
  EXPECT_DOUBLE_EQ(OverheadLimitOf(request.spec().sample()), 0.1) << "should it come to samples";
}

TEST(CpuBudget, BriefOnesCountNothing) {
  CaptureTask dump = Sampling(0);
  dump.set_verb(CaptureTask::DUMP);
  EXPECT_DOUBLE_EQ(GrantCpu(dump, -1).value().cores, 0);
}

class BudgetOfTheRegistry : public testing::Test, protected PlayedCaptures {
 protected:
  BudgetOfTheRegistry() { registry_ = std::make_unique<CaptureRegistry>(folder_.path(), CaptureLimits()); }
  ~BudgetOfTheRegistry() override { registry_.reset(); }  // before its folder

  Result<Session> Create(CaptureUser owner, const CaptureTask& request) {
    CaptureRegistry::Creation creation = CreationBy(owner);
    creation.request = request;
    return Ask(creation);
  }
  static std::vector<std::string> NoticesOf(const Session& session) {
    session->Cancel();  // the fake collector notices at least a cancellation
    EXPECT_TRUE(session->WaitForEnd(kPatience));
    return session->Snapshot().notices;
  }

  ScratchDirectory folder_;
};

TEST_F(BudgetOfTheRegistry, IsForEverybodyTogether) {
  starter_.budget = 0.1;
  const Session greedy = Create({1001}, Sampling(0)).value();
  EXPECT_DOUBLE_EQ(OverheadLimitOf(LastCollector().request.spec().sample()), 0.05) << "what its collector is told";
  std::vector<Session> others;
  for (uint32_t user = 1002; user < 1007; ++user) {
    others.push_back(Create({user}, Sampling(0.01)).value());
  }
  EXPECT_DOUBLE_EQ(OverheadLimitOf(LastCollector().request.spec().sample()), 0.01);
  EXPECT_NEAR(registry_->Usage(kRoot).cpu_cores, 0.1, 1e-9);
  const auto one_too_many = Create({1008}, Sampling(0.01));
  ASSERT_TRUE(one_too_many.has_error());
  EXPECT_EQ(one_too_many.error().code, Code::kResourceExhausted);
  EXPECT_EQ(one_too_many.error().reason, Reason::kQuota);
  EXPECT_NE(one_too_many.error().message.find("0.1 cores"), std::string::npos) << one_too_many.error().message;
  EXPECT_FALSE(one_too_many.error().remedy.empty());
  EXPECT_EQ(starter_.refusals, 1) << "the audit hears of it";
  EXPECT_TRUE(registry_->StartHidden(Sampling(0.01), {1008}, starter_.access()).has_error()) << "live views count too";
  ASSERT_EQ(NoticesOf(greedy).size(), 1U);
  EXPECT_NE(NoticesOf(greedy)[0].find("5 % of a core"), std::string::npos) << NoticesOf(greedy)[0];
  EXPECT_TRUE(NoticesOf(others[0]).empty());
  EXPECT_TRUE(Create({1008}, Sampling(0.01)).has_value()) << "some have ended";
}

TEST_F(BudgetOfTheRegistry, WithoutOneNothingIsNarrowed) {
  const Session session = Create({1001}, Sampling(0)).value();
  EXPECT_DOUBLE_EQ(OverheadLimitOf(LastCollector().request.spec().sample()), 0);
  EXPECT_TRUE(NoticesOf(session).empty());
}

}  // namespace
}  // namespace ptrace_prof

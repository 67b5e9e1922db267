// Captures are within limits, belong to their owners alone, and are removed in time. The test acts as their collectors.

#include "daemon/server/captures/capture_registry.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <future>
#include <thread>

#include "tests/unit/daemon/server/captures/played_captures.h"
#include "tests/unit/in_child.h"
#include "tests/unit/no_thread.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {
namespace {

class Registry : public testing::Test, protected PlayedCaptures {
 protected:
  Registry() { Limit({}); }
  ~Registry() override { registry_.reset(); }  // before its folder

  Result<Session> Create(CaptureUser owner, const std::string& request_id = "", const std::string& id = "") {
    CaptureRegistry::Creation creation = CreationBy(owner, id);
    creation.request_id = request_id;
    return Ask(creation);
  }
  void Limit(const CaptureLimits& limits) { registry_ = std::make_unique<CaptureRegistry>(folder_.path(), limits); }
  Session CreateEnded(CaptureUser owner) { return AskAndComplete(CreationBy(owner)); }

  ScratchDirectory folder_;
};

TEST_F(Registry, OthersCapturesCannotBeSeen) {
  const Session anns = Create(kAnn).value();
  const std::string id = anns->parameters().id;
  EXPECT_EQ(registry_->Find(id, kAnn).value(), anns);
  EXPECT_EQ(registry_->Find(id, kRoot).value(), anns);
  EXPECT_EQ(registry_->Find(id, kBob).error().code, Code::kNotFound);
  EXPECT_EQ(registry_->Find(id, kBob).error().message, "there is no capture '" + id + "'") << "as if it did not exist";
  EXPECT_EQ(registry_->Delete(id, kBob).error().code, Code::kNotFound);
  EXPECT_TRUE(registry_->List(kBob).empty());
  EXPECT_EQ(registry_->List(kAnn).size(), 1U);
  EXPECT_EQ(registry_->List(kRoot).size(), 1U);
}

TEST_F(Registry, WithNoThreadToBeHadACaptureIsRefusedAndItsCollectorEnds) {
  EXPECT_EQ(InChild([this] {
              if (::chmod(folder_.path().c_str(), 0777) != 0 || !AllowNoThread()) {
                return 2;
              }
              const auto created = Create(kAnn);
              return created.has_error() && created.error().reason == Reason::kOutOfResources &&
                             registry_->List(kAnn).empty() && starter_.started().front()->killed
                         ? 0
                         : 1;
            }),
            0);
}

TEST_F(Registry, ARequestIdIsOfOneRequest) {
  const Session first = Create(kAnn, "once").value();
  EXPECT_EQ(Create(kAnn, "once").value(), first);
  CaptureRegistry::Creation other = CreationBy(kAnn);
  other.request_id = "once";
  other.request.mutable_spec()->mutable_sample()->set_rate_hz(17);
  EXPECT_EQ(Ask(other).error().reason, Reason::kInvalidRequest);
  EXPECT_EQ(registry_->Check(other, starter_.access()).error().reason, Reason::kInvalidRequest);
  for (const auto& [max_bytes, keep] : {std::pair<uint64_t, bool>{1000, false}, {0, true}}) {
    CaptureRegistry::Creation more = CreationBy(kAnn);
    more.request_id = "once";
    more.request.mutable_spec()->set_max_bytes(max_bytes);
    more.request.mutable_spec()->set_keep(keep);
    EXPECT_EQ(Ask(more).error().reason, Reason::kInvalidRequest) << max_bytes;
  }
}

TEST_F(Registry, WhatNobodyAsksAfterEnds) {
  Limit({.unattended = Nanos(1)});
  const Session left = Create(kAnn).value();
  CaptureRegistry::Creation creation = CreationBy(kAnn);
  creation.request.mutable_spec()->set_keep(true);
  const Session kept = Ask(creation).value();
  creation = CreationBy(kAnn);
  SetNanos(Nanos::FromSeconds(3600), creation.request.mutable_spec()->mutable_duration());
  const Session ends_by_itself = Ask(creation).value();
  creation = CreationBy(kAnn);
  creation.request.mutable_spec()->set_mode(v1::MODE_TRACE);
  creation.request.mutable_spec()->mutable_trace()->set_steps(3);
  const Session ends_by_steps = Ask(creation).value();
  const Session heard = Create(kAnn).value();
  const auto listener = heard->Subscribe([] {});
  registry_->Expire();
  ASSERT_TRUE(left->WaitForEnd(kPatience));
  EXPECT_EQ(left->Snapshot().state, CaptureState::kCancelled);
  EXPECT_NE(left->Snapshot().end_message.find("no client was left"), std::string::npos);
  EXPECT_FALSE(left->Snapshot().error.has_value());
  for (const Session& other : {ends_by_itself, ends_by_steps}) {
    EXPECT_TRUE(other->WaitForEnd(kPatience)) << "nobody waits for what it records";
  }
  for (const Session& other : {kept, heard}) {
    EXPECT_FALSE(HasEnded(other->Snapshot().state));
  }
  heard->Unsubscribe(listener);
  registry_->Expire();
  EXPECT_TRUE(heard->WaitForEnd(kPatience)) << "who listened has gone";
}

TEST_F(Registry, WhatIsAskedAfterGoesOn) {
  Limit({.unattended = Nanos::FromSeconds(3600)});
  const Session session = Create(kAnn).value();
  const Nanos before = MonotonicNow();
  ASSERT_TRUE(registry_->Find(session->parameters().id, kAnn).has_value());
  const Nanos unattended = session->UnattendedFor();
  EXPECT_LE(unattended, MonotonicNow() - before);
  registry_->Expire();
  EXPECT_FALSE(HasEnded(session->Snapshot().state));
}

TEST_F(Registry, ACollectorWhoseProgramNeverRanSaysWhy) {
  const Session session = Create(kAnn).value();
  LastCollector().status = 127 << 8;
  LastCollector().not_started = Because(Reason::kCannotBecomeCaller, "it cannot become user 1001");
  LastCollector().output.reset();
  ASSERT_TRUE(session->WaitForEnd(kPatience));
  ASSERT_TRUE(session->Snapshot().error.has_value());
  EXPECT_EQ(session->Snapshot().error->reason, Reason::kCannotBecomeCaller);
}

TEST_F(Registry, ARootWhoMayNotReadAllIsOneUserAmongOthers) {
  const Session anns = Create(kAnn).value();
  const Session roots = Create(kRoot, "once").value();
  const Session containers = Create(kContainersRoot, "once").value();
  EXPECT_NE(containers, roots) << "not by a request's ID either";
  EXPECT_EQ(registry_->List(kContainersRoot), std::vector<Session>{containers});
  for (const Session& others : {anns, roots}) {
    EXPECT_EQ(registry_->Find(others->parameters().id, kContainersRoot).error().code, Code::kNotFound);
    EXPECT_EQ(registry_->Delete(others->parameters().id, kContainersRoot).error().code, Code::kNotFound);
  }
  EXPECT_EQ(registry_->List(kRoot).size(), 3U);
}

// Which capture a refusal may name.
TEST_F(Registry, TheRivalIsOneThatTracesAndNoneThatSamplesInstead) {
  const auto asked_for = [&](v1::Mode mode) {
    CaptureRegistry::Creation creation = CreationBy(kAnn);
    creation.request.mutable_spec()->set_mode(mode);
    return Ask(creation).value();
  };
  const Session sampled = asked_for(v1::MODE_SAMPLE);
  const Session chooses = asked_for(v1::MODE_AUTO);
  EXPECT_EQ(chooses->parameters().rival, "");
  FakeCollectorState& its = LastCollector();
  const std::string is_it = "capture " + chooses->parameters().id + " of user 1001";
  EXPECT_EQ(AskAndComplete(CreationBy(kAnn))->parameters().rival, is_it) << "it has not chosen yet";
  ASSERT_TRUE(WriteAll(its.output.get(), SmallTrace(false)));  // reports that samples are taken
  while (!chooses->Snapshot().mode.has_value()) {
    std::this_thread::yield();
  }
  ASSERT_FALSE(HasEnded(chooses->Snapshot().state));
  const Session traces = asked_for(v1::MODE_TRACE);
  EXPECT_EQ(traces->parameters().rival, "");
  EXPECT_EQ(Create(kAnn).value()->parameters().rival, "capture " + traces->parameters().id + " of user 1001");
  EXPECT_EQ(Create(kBob).value()->parameters().rival, "");
}

TEST_F(Registry, ARequestIdIsOfOneUser) {
  const Session first = Create(kAnn, "r1").value();
  EXPECT_EQ(Create(kAnn, "r1").value(), first);
  EXPECT_NE(Create(kBob, "r1").value(), first);
  EXPECT_NE(Create(kAnn, "r2").value(), first);
  EXPECT_NE(Create(kAnn, "").value(), Create(kAnn, "").value());
  Complete(first, *starter_.started().front());
  EXPECT_EQ(Create(kAnn, "r1").value(), first) << "also when it has ended";
}

TEST_F(Registry, ARetryDoesNotGetWhatWasThrownAway) {
  const Session first = Create(kAnn, "r1").value();
  registry_->Discard(first->parameters().id);
  EXPECT_NE(Create(kAnn, "r1").value(), first);
}

TEST_F(Registry, LimitsHowManyGoOnForEachUser) {
  Limit({.captures_per_user = 2});
  const Session one = Create(kAnn).value();
  ASSERT_TRUE(Create(kAnn).has_value());
  const auto third = Create(kAnn);
  ASSERT_TRUE(third.has_error());
  EXPECT_EQ(third.error().code, Code::kResourceExhausted);
  EXPECT_FALSE(third.error().remedy.empty());
  EXPECT_TRUE(Create(kBob).has_value());
  Complete(one, *starter_.started().front());
  EXPECT_TRUE(Create(kAnn).has_value()) << "one has ended";
}

TEST_F(Registry, KeepsSoManyEndedOnesAndForgetsTheOldest) {
  Limit({.kept_per_user = 2});
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(CreateEnded(kAnn)->parameters().id);
  }
  registry_->Expire();
  EXPECT_TRUE(registry_->Find(ids[0], kAnn).has_error());
  EXPECT_TRUE(registry_->Find(ids[1], kAnn).has_error());
  EXPECT_TRUE(registry_->Find(ids[2], kAnn).has_value());
  EXPECT_TRUE(registry_->Find(ids[3], kAnn).has_value());
  EXPECT_EQ(registry_->List(kAnn).front()->parameters().id, ids[3]) << "newest first";
}

TEST_F(Registry, WhereThereIsTooMuchWhoHasMostGivesTheOldest) {
  const uint64_t one = SmallTrace().size();  // traces differ by a byte or two
  Limit({.kept_bytes = 3 * one + one / 2});
  const std::string bobs = CreateEnded(kBob)->parameters().id;
  std::vector<std::string> anns;
  for (int i = 0; i < 4; ++i) {
    anns.push_back(CreateEnded(kAnn)->parameters().id);
  }
  registry_->Expire();
  EXPECT_TRUE(registry_->Find(bobs, kBob).has_value()) << "the oldest of all";
  EXPECT_TRUE(registry_->Find(anns[0], kAnn).has_error());
  EXPECT_TRUE(registry_->Find(anns[1], kAnn).has_error());
  EXPECT_TRUE(registry_->Find(anns[2], kAnn).has_value());
  EXPECT_TRUE(registry_->Find(anns[3], kAnn).has_value());
}

TEST_F(Registry, ForgetsWhatIsOldUnlessItIsToBeKept) {
  Limit({.retention = Nanos(0)});
  CaptureRegistry::Creation creation{.owner = kAnn};
  creation.request.mutable_spec()->set_keep(true);
  SetTarget(Pid(7), &creation.request);
  const Session kept = registry_->Create(creation, starter_.access()).value();
  Complete(kept, LastCollector());
  const std::string id = CreateEnded(kAnn)->parameters().id;
  registry_->Expire();
  EXPECT_TRUE(registry_->Find(id, kAnn).has_error());
  EXPECT_TRUE(registry_->Find(kept->parameters().id, kAnn).has_value());
}

TEST_F(Registry, DeletesOnlyWhatHasEnded) {
  const Session session = Create(kAnn).value();
  const std::string id = session->parameters().id;
  EXPECT_EQ(registry_->Delete(id, kAnn).error().code, Code::kFailedPrecondition);
  session->Cancel();
  ASSERT_TRUE(session->WaitForEnd(kPatience));
  EXPECT_EQ(session->Snapshot().state, CaptureState::kCancelled);
  EXPECT_TRUE(registry_->Delete(id, kAnn).has_value());
  EXPECT_EQ(registry_->Delete(id, kAnn).error().code, Code::kNotFound);
}

TEST_F(Registry, ACancelledCaptureSaysSo) {
  const Session session = Create(kAnn).value();
  session->Cancel();
  ASSERT_TRUE(session->WaitForEnd(kPatience));
  EXPECT_EQ(session->Snapshot().state, CaptureState::kCancelled);
  EXPECT_EQ(session->Snapshot().end_message, "cancelled");
  EXPECT_FALSE(session->Snapshot().error.has_value());
}

TEST_F(Registry, ACollectorThatDoesNotEndIsKilledAndTheCaptureIsCancelledAllTheSame) {
  Limit({.stop_patience = Nanos::FromMillis(10)});
  starter_.deaf = true;
  const Session session = Create(kAnn).value();
  FakeCollectorState& collector = LastCollector();
  collector.status = SIGKILL;
  ASSERT_TRUE(WriteAll(collector.output.get(), SmallTrace(false)));
  session->Cancel();
  ASSERT_TRUE(session->WaitForEnd(kPatience));
  EXPECT_TRUE(collector.killed);
  const CaptureSnapshot ended = session->Snapshot();
  EXPECT_EQ(ended.state, CaptureState::kCancelled);
  ASSERT_TRUE(ended.error.has_value());
  EXPECT_EQ(ended.error->code, Code::kCancelled);
  EXPECT_NE(ended.error->message.find("cancelled; "), std::string::npos) << ended.error->message;
  EXPECT_NE(ended.error->message.find("0.01 s"), std::string::npos) << ended.error->message;
  EXPECT_GT(ended.trace_bytes, 0U) << "what there was is kept";
}

// The collector's user can open the pipe, and a child of it may have it.
TEST_F(Registry, ACollectorWhosePipeSomebodyHoldsEndsAllTheSame) {
  const Session session = Create(kAnn).value();
  FakeCollectorState& collector = LastCollector();
  const std::string trace = SmallTrace(false);
  ASSERT_TRUE(WriteAll(collector.output.get(), trace));
  collector.status = SIGKILL;
  collector.ended = true;
  ASSERT_TRUE(session->WaitForEnd(kPatience));
  EXPECT_EQ(session->Snapshot().state, CaptureState::kFailed);
  EXPECT_EQ(session->Snapshot().trace_bytes, trace.size());
  collector.output.reset();
}

TEST_F(Registry, NobodyWaitsForAnothersStart) {
  Limit({.captures_per_user = 1});
  starter_.is_slow = true;
  auto slow = std::async(std::launch::async, [&] { return Create(kAnn, "r1", "mine"); });
  auto again = std::async(std::launch::async, [&] { return Create(kAnn, "r1", "mine"); });
  while (registry_->CountGoingOn() == 0) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(registry_->List(kAnn).empty());
  EXPECT_EQ(Create(kAnn, "", "mine").error().reason, Reason::kCaptureExists);
  EXPECT_EQ(Create(kBob, "", "mine").error().code, Code::kInvalidArgument);
  EXPECT_EQ(Create(kAnn, "", "more").error().reason, Reason::kQuota) << "what starts counts";
  starter_.is_slow = false;
  const Session started = slow.get().value();
  EXPECT_EQ(started->parameters().id, "mine");
  EXPECT_EQ(again.get().value(), started);
}

TEST_F(Registry, WhatStartedWhileTheDaemonEndsIsCancelled) {
  starter_.is_slow = true;
  auto slow = std::async(std::launch::async, [&] { return Create(kAnn); });
  while (registry_->CountGoingOn() == 0) {
    std::this_thread::yield();
  }
  registry_->BeginEnding();
  starter_.is_slow = false;
  EXPECT_TRUE(registry_->AwaitEnds(MonotonicNow() + kPatience));
  EXPECT_EQ(slow.get().value()->Snapshot().state, CaptureState::kCancelled);
}

TEST_F(Registry, DiscardingCancelsHidesAndForgets) {
  const Session session = Create(kAnn, "", "mine").value();
  registry_->Discard("mine");
  EXPECT_TRUE(registry_->Find("mine", kAnn).has_error());
  EXPECT_TRUE(registry_->List(kAnn).empty());
  ASSERT_TRUE(session->WaitForEnd(kPatience));
  EXPECT_TRUE(starter_.started().front()->stopped);
  registry_->Expire();
  EXPECT_TRUE(Create(kAnn, "", "mine").has_value()) << "the ID is free again";
}

TEST_F(Registry, TheServersLimitsHoldWhateverIsAskedFor) {
  Limit({.bytes = 1000, .duration = Nanos::FromSeconds(5)});
  CaptureRegistry::Creation creation{.owner = kAnn};
  creation.request.mutable_spec()->set_max_bytes(1'000'000);
  SetTarget(Pid(7), &creation.request);
  for (const Nanos asked : {Nanos(), Nanos::FromSeconds(2)}) {
    SetNanos(asked, creation.request.mutable_spec()->mutable_duration());
    const Session session = registry_->Create(creation, starter_.access()).value();
    const Nanos given = DurationOf(LastCollector().request);
    EXPECT_EQ(given, asked == Nanos() ? Nanos::FromSeconds(5) : asked);
    EXPECT_EQ(session->parameters().max_bytes, 1000U);
  }
  SetNanos(Nanos::FromSeconds(10), creation.request.mutable_spec()->mutable_duration());
  const auto refused = registry_->Create(creation, starter_.access());
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().message, "user 1001 requested 10 s, and the limit for a capture is 5 s");
}

TEST_F(Registry, QuotasLimitHowManyGoOn) {
  starter_.allowed = {.name = "few", .captures = 1, .bytes = {}, .duration = {}};
  const Session one = Create(kAnn).value();
  const auto second = Create(kAnn);
  ASSERT_TRUE(second.has_error());
  EXPECT_EQ(second.error().reason, Reason::kQuota);
  EXPECT_EQ(second.error().message, "user 1001 has 1 running captures, and the limit is 1 (quota 'few' of the policy)");
  EXPECT_EQ(starter_.refusals, 1) << "whoever keeps a record hears of it";
  EXPECT_EQ(starter_.refused_by, "few");
  starter_.allowed.captures = 1000;
  Limit({.captures_per_user = 1});
  ASSERT_TRUE(Create(kAnn).has_value());
  EXPECT_EQ(Create(kAnn).error().message, "user 1001 has 1 running captures, and the limit is 1")
      << "the stricter counts";
  EXPECT_EQ(starter_.refused_by, "") << "which is none of the policy's";
  starter_.allowed.captures = 0;
  EXPECT_EQ(Create(kBob).error().reason, Reason::kQuota);
}

TEST_F(Registry, QuotasLimitTheDuration) {
  starter_.allowed = {.name = "short", .captures = {}, .bytes = {}, .duration = Nanos::FromSeconds(10)};
  CaptureRegistry::Creation creation{.owner = kAnn};
  SetTarget(Pid(7), &creation.request);
  SetNanos(Nanos::FromSeconds(11), creation.request.mutable_spec()->mutable_duration());
  EXPECT_EQ(registry_->Check(creation, starter_.access()).error().reason, Reason::kQuota);
  const auto refused = registry_->Create(creation, starter_.access());
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, Code::kResourceExhausted);
  EXPECT_EQ(refused.error().message,
            "user 1001 requested 11 s, and the limit for a capture is 10 s (quota 'short' of the policy)");
  SetNanos(Nanos(), creation.request.mutable_spec()->mutable_duration());
  ASSERT_TRUE(registry_->Create(creation, starter_.access()).has_value());
  EXPECT_EQ(DurationOf(LastCollector().request), Nanos::FromSeconds(10));
  Limit({.duration = Nanos::FromSeconds(5)});
  ASSERT_TRUE(registry_->Create(creation, starter_.access()).has_value());
  EXPECT_EQ(DurationOf(LastCollector().request), Nanos::FromSeconds(5)) << "the stricter counts";
}

TEST_F(Registry, QuotasLimitTheBytesOfAllTraces) {
  const uint64_t size = SmallTrace().size(), most = size + size / 2;  // times in it differ by a few bytes
  starter_.allowed = {.name = "small", .captures = {}, .bytes = most, .duration = {}};
  CreateEnded(kAnn);
  Session second = Create(kAnn).value();
  ASSERT_TRUE(WriteAll(LastCollector().output.get(), SmallTrace(false)));
  ASSERT_TRUE(second->WaitForEnd(kPatience)) << "the account is full";
  EXPECT_EQ(second->Snapshot().state, CaptureState::kSucceeded);
  EXPECT_NE(second->Snapshot().end_message.find(std::to_string(most)), std::string::npos);
  const auto third = Create(kAnn);
  ASSERT_TRUE(third.has_error());
  EXPECT_EQ(third.error().reason, Reason::kQuota);
  EXPECT_NE(third.error().message.find("bytes of stored traces"), std::string::npos) << third.error().message;
  EXPECT_TRUE(Create(kBob).has_value()) << "whose account is another";
  const std::string id = second->parameters().id;
  second.reset();  // a holder may still read it
  ASSERT_TRUE(registry_->Delete(id, kAnn).has_value());
  EXPECT_TRUE(Create(kAnn).has_value()) << "what is deleted makes room";
}

TEST_F(Registry, ACaptureEndsWellAtItsSize) {
  CaptureRegistry::Creation creation{.owner = kAnn};
  creation.request.mutable_spec()->set_max_bytes(100);
  SetTarget(Pid(7), &creation.request);
  const Session session = registry_->Create(creation, starter_.access()).value();
  ASSERT_TRUE(WriteAll(LastCollector().output.get(), SmallTrace(false)));
  ASSERT_TRUE(session->WaitForEnd(kPatience));
  EXPECT_TRUE(LastCollector().stopped);
  EXPECT_EQ(session->Snapshot().state, CaptureState::kSucceeded);
  EXPECT_NE(session->Snapshot().end_message.find("100"), std::string::npos);
}

TEST_F(Registry, AStarterThatCannotLeavesNothingBehind) {
  starter_.refuse = true;
  EXPECT_EQ(Create(kAnn, "r1").error().code, Code::kResourceExhausted);
  EXPECT_TRUE(registry_->List(kAnn).empty());
  starter_.refuse = false;
  EXPECT_TRUE(Create(kAnn, "r1").has_value());
}

TEST_F(Registry, TheEndOfTheServerEndsAll) {
  const Session session = Create(kAnn).value();
  ASSERT_TRUE(Create(kBob).has_value());
  registry_.reset();
  ASSERT_TRUE(session->WaitForEnd(kPatience));
  for (const auto& collector : starter_.started()) {
    EXPECT_TRUE(collector->stopped);
  }
}

TEST_F(Registry, WhatOthersCallTheirCapturesIsNobodysBusiness) {
  const Session mine = Create(kAnn, "", "mine").value();
  EXPECT_EQ(Create(kAnn, "", "mine").error().reason, Reason::kCaptureExists);
  EXPECT_EQ(Create(kRoot, "", "mine").error().reason, Reason::kCaptureExists);
  EXPECT_EQ(starter_.refusals, 2);
  const Error hidden = Create(kBob, "", "mine").error();
  EXPECT_EQ(hidden.code, Code::kInvalidArgument);
  EXPECT_EQ(hidden.message, Create(kBob, "", "Mine!").error().message) << "as if it were no good ID";
  EXPECT_EQ(registry_->FindAnothers("mine", kBob), mine);
  EXPECT_EQ(registry_->FindAnothers("mine", kAnn), nullptr);
  EXPECT_EQ(registry_->FindAnothers("none", kBob), nullptr);
}

TEST_F(Registry, ADumpIsInNoList) {
  CaptureTask request;
  SetTarget(Pid(7), &request);
  const auto session = registry_->StartHidden(request, kAnn, starter_.access());
  ASSERT_TRUE(session.has_value());
  EXPECT_TRUE(registry_->List(kAnn).empty());
  Complete(session.value(), LastCollector());
  EXPECT_EQ(session.value()->Snapshot().state, CaptureState::kSucceeded);
}

TEST_F(Registry, ADumpBeyondTheirNumberIsRefusedAndThatIsReported) {
  Limit({.brief_per_user = 1});
  CaptureTask request;
  SetTarget(Pid(7), &request);
  request.set_verb(CaptureTask::DUMP);
  ASSERT_TRUE(registry_->StartHidden(request, kAnn, starter_.access()).has_value());
  EXPECT_EQ(starter_.refusals, 0);
  EXPECT_EQ(registry_->StartHidden(request, kAnn, starter_.access()).error().reason, Reason::kQuota);
  EXPECT_EQ(starter_.refusals, 1);
  EXPECT_TRUE(registry_->StartHidden(request, kBob, starter_.access()).has_value());
  request.set_verb(CaptureTask::RECORD);
  EXPECT_TRUE(registry_->StartHidden(request, kAnn, starter_.access()).has_value())
      << "live views are counted by themselves";
}

TEST_F(Registry, ADumpCountsUntilItsAnswerIsTaken) {
  Limit({.brief_per_user = 1});
  CaptureTask request;
  SetTarget(Pid(7), &request);
  request.set_verb(CaptureTask::DUMP);
  Session held = registry_->StartHidden(request, kAnn, starter_.access()).value();
  Complete(held, LastCollector());
  EXPECT_EQ(registry_->StartHidden(request, kAnn, starter_.access()).error().reason, Reason::kQuota);
  held.reset();
  EXPECT_TRUE(registry_->StartHidden(request, kAnn, starter_.access()).has_value());
}

TEST_F(Registry, ADumpThatIsTooLargeFailsAndIsNotStored) {
  constexpr uint64_t kMost = 1 << 20;
  Limit({.brief_bytes = kMost});
  starter_.deaf = true;
  CaptureTask request;
  SetTarget(Pid(7), &request);
  request.set_verb(CaptureTask::DUMP);
  const Session session = registry_->StartHidden(request, kAnn, starter_.access()).value();
  const auto collector = starter_.started().back();
  const std::string part = SmallTrace(false, 2000);
  for (uint64_t written = 0; written < 4 * kMost; written += part.size()) {
    ASSERT_TRUE(WriteAll(collector->output.get(), part));
  }
  collector->output.reset();
  ASSERT_TRUE(session->WaitForEnd(kPatience));
  const CaptureSnapshot end = session->Snapshot();
  EXPECT_TRUE(collector->stopped);
  EXPECT_EQ(end.state, CaptureState::kFailed);
  ASSERT_TRUE(end.error.has_value());
  EXPECT_EQ(end.error->reason, Reason::kQuota);
  EXPECT_NE(end.error->message.find("1 MiB"), std::string::npos) << end.error->message;
  EXPECT_FALSE(end.error->remedy.empty());
  EXPECT_LT(session->spool().size(), 2 * kMost) << "what came then is thrown away";
}

TEST_F(Registry, RefusesBadIds) {
  for (const char* id : {"A", "a_b", "a/b", "..", "a b", "\xc3\xa4"}) {
    EXPECT_EQ(Create(kAnn, "", id).error().code, Code::kInvalidArgument) << id;
  }
  EXPECT_EQ(Create(kAnn, "", std::string(64, 'a')).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(Create(kAnn, "", std::string(63, 'a')).has_value());
  EXPECT_EQ(Create(kAnn, "", std::string(63, 'a')).error().code, Code::kAlreadyExists);
}

}  // namespace
}  // namespace ptrace_prof

// Captures that outlive their daemon: their records on disk, and what the next daemon makes of them.

#include "daemon/server/captures/capture_shelf.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "daemon/server/captures/capture_registry.h"
#include "tests/unit/count_descriptors.h"
#include "tests/unit/daemon/server/captures/played_captures.h"
#include "tests/unit/eventually.h"
#include "tests/unit/in_child.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {
namespace {

CaptureRecord SomeRecord() {
  CaptureRecord record;
  record.parameters.id = "c1";
  record.parameters.request_id = "a \"word\"\n";
  record.parameters.owner = {kAnn.uid, true};
  SetTarget(Pid(7), &record.parameters.request);
  SetNanos(Nanos::FromSeconds(3), record.parameters.request.mutable_spec()->mutable_duration());
  record.parameters.max_bytes = 1 << 20;
  record.parameters.keep = true;
  record.state.created = Nanos(1'700'000'000'123'456'789);
  return record;
}

TEST(CaptureRecord, ComesBackAsItWas) {
  CaptureRecord record = SomeRecord();
  record.state.state = CaptureState::kFailed;
  record.state.started = Nanos(5);
  record.state.ended = Nanos(6);
  record.state.trace_bytes = 77;
  record.state.totals.samples = 12;
  record.state.totals.by_quality[0] = 11;
  record.state.totals.actual_rate_hz = 399.5;
  record.state.mode = v1::MODE_TRACE;
  record.state.sampled_because = "because";
  record.state.error = Because(Reason::kDiskFull, "full \xff", "free some", "folder /x");
  record.state.end_message = "ended";
  record.state.notices = {"one", "two"};
  const auto read = DecodeRecord(EncodeRecord(record));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(EncodeRecord(read.value()), EncodeRecord(record));
  EXPECT_EQ(read.value().parameters.request_id, record.parameters.request_id);
  EXPECT_EQ(read.value().parameters.owner, (CaptureUser{kAnn.uid, true}));
  EXPECT_TRUE(read.value().parameters.keep);
  EXPECT_EQ(DurationOf(read.value().parameters.request), Nanos::FromSeconds(3));
  EXPECT_EQ(read.value().state.totals.samples, 12U);
  EXPECT_EQ(read.value().state.mode, v1::MODE_TRACE);
  ASSERT_TRUE(read.value().state.error.has_value());
  EXPECT_EQ(read.value().state.error->reason, Reason::kDiskFull);
  EXPECT_EQ(read.value().state.error->message, "full \xff");
  EXPECT_EQ(read.value().state.notices.size(), 2U);
}

TEST(CaptureRecord, WhatIsNoneIsRefused) {
  const std::string sound = EncodeRecord(SomeRecord());
  for (size_t cut = 0; cut + 1 < sound.size(); ++cut) {
    EXPECT_TRUE(DecodeRecord(sound.substr(0, cut)).has_error()) << cut;
  }
  const auto without = [&](const std::string& word, const std::string& other) {
    std::string text = sound;
    return text.replace(text.find(word), word.size(), other);
  };
  for (const std::string& text :
       {std::string("[]"), without("capture/2", "capture/9"), without("owner_uid", "no_owner"),
        without("1001", "4294967296"), without("\"pending\"", "\"asleep\""), without("\"task\"", "\"tasks\"")}) {
    EXPECT_TRUE(DecodeRecord(text).has_error()) << text;
  }
}

class Shelf : public testing::Test {
 protected:
  std::unique_ptr<CaptureShelf> Open() {
    auto opened = CaptureShelf::Open(folder_.path());
    EXPECT_TRUE(opened.has_value());
    return opened.has_value() ? std::move(opened).value() : nullptr;
  }
  // What another daemon, which ends with this call, finds there.
  std::vector<CaptureShelf::Found> Find() {
    return Open()->TakeStock([](const std::string&) {}, [this](const Error& error) { troubles_.push_back(error); });
  }
  bool Exists(const std::string& name) const { return ::access((folder_.path() + "/" + name).c_str(), F_OK) == 0; }
  static void Append(TraceSpool& spool, const std::string& bytes) {
    ASSERT_TRUE(spool.Append(std::as_bytes(std::span(bytes))).has_value());
  }

  ScratchDirectory folder_;
  std::vector<Error> troubles_;
};

TEST_F(Shelf, IsOfOneAtATime) {
  auto first = Open();
  const auto second = CaptureShelf::Open(folder_.path());
  ASSERT_TRUE(second.has_error());
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_NE(second.error().message.find(folder_.path()), std::string::npos);
  first.reset();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(Shelf, WhatWentOnHasFailedWithItsWholePackets) {
  const std::string trace = SmallTrace(false);
  {
    auto shelf = Open();
    auto spool = std::move(shelf->Begin(SomeRecord())).value();
    Append(*spool, trace + trace.substr(0, 5));
  }
  const auto found = Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].was_interrupted);
  const CaptureSnapshot& state = found[0].record.state;
  EXPECT_EQ(state.state, CaptureState::kFailed);
  ASSERT_TRUE(state.error.has_value());
  EXPECT_EQ(state.error->reason, Reason::kDaemonRestarted);
  EXPECT_EQ(state.error->thing, "capture c1");
  EXPECT_EQ(state.trace_bytes, trace.size());
  EXPECT_EQ(state.totals.samples, 10U);
  EXPECT_GE(state.ended.value, state.created.value);
  EXPECT_EQ(found[0].spool->ReadPackets(0, 1 << 20).value(), trace);
  const auto again = Find();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_FALSE(again[0].was_interrupted) << "that was written down";
  EXPECT_EQ(EncodeRecord(again[0].record), EncodeRecord(found[0].record));
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(Shelf, WhatEndedUnseenHasSucceeded) {
  {
    auto shelf = Open();
    Append(*std::move(shelf->Begin(SomeRecord())).value(), SmallTrace(true));
  }
  const auto found = Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].record.state.state, CaptureState::kSucceeded);
  EXPECT_FALSE(found[0].record.state.error.has_value());
}

TEST_F(Shelf, AnOffsetIsFoundInATraceOfAnEarlierDaemon) {
  std::string trace;
  while (trace.size() < (1U << 20)) {
    trace += SmallTrace(false, 2000);
  }
  {
    auto shelf = Open();
    CaptureRecord record = SomeRecord();
    Append(*std::move(shelf->Begin(record)).value(), trace);
    record.state.state = CaptureState::kSucceeded;
    record.state.trace_bytes = trace.size();
    ASSERT_TRUE(shelf->Write(record).has_value());
  }
  const auto found = Find();
  ASSERT_EQ(found.size(), 1U);
  const std::vector<uint64_t> ends = PacketEnds(trace);
  for (size_t i = 0; i < ends.size(); i += 997) {
    EXPECT_TRUE(found[0].spool->CheckOffset(ends[i]).has_value()) << ends[i];
    EXPECT_EQ(found[0].spool->CheckOffset(ends[i] - 1).error().code, Code::kOutOfRange);
  }
  EXPECT_TRUE(found[0].spool->CheckOffset(trace.size()).has_value());
  EXPECT_EQ(found[0].spool->CheckOffset(trace.size() + 1).error().code, Code::kOutOfRange);
}

TEST_F(Shelf, WhatWasRemovedIsNotWrittenAgain) {
  auto shelf = Open();
  const auto spool = std::move(shelf->Begin(SomeRecord())).value();
  EXPECT_TRUE(shelf->Remove("c1").has_value());
  EXPECT_TRUE(shelf->Write(SomeRecord()).has_value());
  EXPECT_FALSE(Exists("c1.json"));
  EXPECT_FALSE(Exists("c1.pftrace"));
  EXPECT_TRUE(shelf->Begin(SomeRecord()).has_value()) << "the name is free";
}

TEST_F(Shelf, WithoutRoomNothingBegins) {
  auto shelf = Open();
  EXPECT_EQ(InChild([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{10, 10};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              const auto begun = shelf->Begin(SomeRecord());
              if (begun.has_value() || begun.error().message.find(folder_.path()) == std::string::npos) {
                return 1;
              }
              return Exists("c1.json") || Exists("c1.json.new") || Exists("c1.pftrace") ? 2 : 0;
            }),
            0);
}

TEST_F(Shelf, OnAFullDiskWhatIsThereIsFound) {
  {
    auto shelf = Open();
    Append(*std::move(shelf->Begin(SomeRecord())).value(), SmallTrace(false));
  }
  EXPECT_EQ(InChild([&] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{10, 10};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              const auto found = Find();
              return found.size() == 1 && HasEnded(found[0].record.state.state) && troubles_.size() == 1 ? 0 : 1;
            }),
            0);
  EXPECT_EQ(Find().size(), 1U) << "as before";
}

TEST_F(Shelf, StrangeFilesAreNamedAndLeft) {
  {
    auto shelf = Open();
    (void)shelf->Begin(SomeRecord()).has_error();
  }
  ::rename((folder_.path() + "/c1.json").c_str(), (folder_.path() + "/other.json").c_str());
  std::ofstream(folder_.path() + "/bad.json") << "{";
  ASSERT_EQ(::symlink("/etc/passwd", (folder_.path() + "/link.json").c_str()), 0);
  ASSERT_EQ(::mkfifo((folder_.path() + "/fifo.json").c_str(), 0600), 0);
  EXPECT_TRUE(Find().empty());
  EXPECT_EQ(troubles_.size(), 5U) << "a trace without a record, and four records that are none";
  for (const char* name : {"other.json", "bad.json", "link.json", "c1.pftrace", "fifo.json"}) {
    EXPECT_TRUE(Exists(name)) << name;
  }
}

class KeptCaptures : public Shelf, protected PlayedCaptures {
 protected:
  ~KeptCaptures() override { registry_.reset(); }  // it uses our members

  void Serve(const CaptureLimits& limits) {
    registry_.reset();
    registry_ = std::make_unique<CaptureRegistry>(
        folder_.path(), limits, Open(),
        RegistryListener{.on_forgotten = [this](const ForgottenCapture& one) { forgotten_.push_back(one); },
                         .on_trouble = [this](const Error& error) { troubles_.push_back(error); }});
    restored_ = registry_->Restore([](const std::string&) {});
  }
  static CaptureRegistry::Creation CreationOf(const std::string& id, bool keep) {
    CaptureRegistry::Creation creation = CreationBy(kAnn, id);
    creation.request_id = "of " + id;
    creation.request.mutable_spec()->set_keep(keep);
    return creation;
  }
  Session Create(const std::string& id) { return Ask(CreationOf(id, false)).value(); }
  Session CreateEnded(const std::string& id, bool keep = false) { return AskAndComplete(CreationOf(id, keep)); }
  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const Session& session : registry_->List(kAnn)) {
      ids.push_back(session->parameters().id);
    }
    return ids;
  }

  CaptureRegistry::Restored restored_;
  std::vector<ForgottenCapture> forgotten_;
};

using Names = std::vector<std::string>;

TEST_F(KeptCaptures, AreThereAfterTheEndOfTheServer) {
  Serve({});
  CreateEnded("one");
  const Session two = CreateEnded("two", true);
  const std::string before = EncodeRecord({two->parameters(), two->Snapshot()});
  Create("cancelled");
  Serve({});
  EXPECT_EQ(restored_.captures, 3U);
  EXPECT_EQ(restored_.interrupted, 0U) << "the end of the server ended it";
  EXPECT_EQ(Ids(), (Names{"cancelled", "two", "one"})) << "newest first";
  const Session again = registry_->Find("two", kAnn).value();
  EXPECT_EQ(EncodeRecord({again->parameters(), again->Snapshot()}), before);
  EXPECT_EQ(again->spool().ReadPackets(0, 1 << 20).value(), two->spool().ReadPackets(0, 1 << 20).value());
  EXPECT_EQ(registry_->Find("cancelled", kAnn).value()->Snapshot().state, CaptureState::kCancelled);
  EXPECT_TRUE(registry_->Find("two", kBob).has_error()) << "and theirs who made them";
  again->Cancel();  // no effect
  EXPECT_EQ(again->Snapshot().state, CaptureState::kSucceeded);
}

TEST_F(KeptCaptures, HaveNoDescriptorUnlessSomebodyReads) {
  Serve({});
  const size_t before = CountDescriptors();
  std::vector<Session> sessions;
  for (int i = 0; i < 20; ++i) {
    sessions.push_back(CreateEnded("c" + std::to_string(i)));
    starter_.Forget();
  }
  EXPECT_TRUE(Eventually([&] { return CountDescriptors() == before; })) << before << ", " << CountDescriptors();
  {
    const TraceSpool::Reading one = sessions.front()->spool().Hold();
    const TraceSpool::Reading other = sessions.front()->spool().Hold();
    EXPECT_EQ(CountDescriptors(), before + 1);
  }
  EXPECT_EQ(sessions.front()->spool().ReadPackets(0, 1 << 20).value().size(), sessions.front()->spool().size());
  EXPECT_EQ(CountDescriptors(), before);
  Serve({});
  EXPECT_EQ(CountDescriptors(), before) << "those of an earlier daemon";
}

TEST_F(KeptCaptures, ARepeatedRequestFindsThemToo) {
  Serve({});
  CreateEnded("one");
  Serve({});
  CaptureRegistry::Creation creation = CreationBy(kAnn);
  creation.request_id = "of one";
  EXPECT_EQ(Ask(creation).value()->parameters().id, "one");
  creation.request.mutable_spec()->mutable_sample()->set_rate_hz(17);
  EXPECT_EQ(Ask(creation).error().reason, Reason::kInvalidRequest) << "of an earlier daemon's, too";
}

TEST_F(KeptCaptures, TheOldestGoesFirstAndNoneThatGoesOn) {
  const uint64_t size = SmallTrace().size();
  Serve({.kept_bytes = 2 * size + size / 2});  // traces differ by a byte or two
  const Session going_on = Create("going-on");
  ASSERT_TRUE(WriteAll(LastCollector().output.get(), SmallTrace(false)));
  for (const char* id : {"a", "b", "c", "d"}) {
    CreateEnded(id, true);
  }
  registry_->Expire();
  EXPECT_EQ(Ids(), (Names{"d", "c", "going-on"}));
  ASSERT_EQ(forgotten_.size(), 2U);
  EXPECT_EQ(forgotten_[0].id, "a");
  EXPECT_EQ(forgotten_[0].why, "bytes");
  EXPECT_GT(forgotten_[0].bytes, size / 2);
  EXPECT_EQ(registry_->forgotten().captures, 2U);
  EXPECT_EQ(registry_->forgotten().bytes, forgotten_[0].bytes + forgotten_[1].bytes);
  EXPECT_FALSE(Exists("a.pftrace"));
  EXPECT_FALSE(Exists("b.json"));
  EXPECT_TRUE(Exists("c.pftrace"));
}

TEST_F(KeptCaptures, AgeCountsForAll) {
  Serve({.kept_for = Nanos(1)});
  const Session read = CreateEnded("one", true);
  const uint64_t size = read->spool().size();
  const TraceSpool::Reading reading = read->spool().Hold();
  registry_->Expire();  // notices that it has ended
  registry_->Expire();
  EXPECT_TRUE(Ids().empty());
  ASSERT_EQ(forgotten_.size(), 1U);
  EXPECT_EQ(forgotten_[0].why, "age");
  EXPECT_EQ(read->spool().ReadPackets(0, 1 << 20).value().size(), size) << "who reads it, may finish";
}

TEST_F(KeptCaptures, WhatWasDeletedOrDiscardedIsGone) {
  Serve({});
  CreateEnded("deleted");
  Create("discarded");
  EXPECT_TRUE(registry_->Delete("deleted", kAnn).has_value());
  registry_->Discard("discarded");
  Serve({});
  EXPECT_EQ(restored_.captures, 0U);
  EXPECT_FALSE(Exists("discarded.json"));
  EXPECT_FALSE(Exists("discarded.pftrace"));
}

TEST_F(KeptCaptures, ARefusalLeavesNothing) {
  Serve({});
  starter_.refuse = true;
  EXPECT_TRUE(Ask(CreationBy(kAnn, "refused")).has_error());
  EXPECT_FALSE(Exists("refused.json"));
  EXPECT_FALSE(Exists("refused.pftrace"));
}

TEST_F(KeptCaptures, AnEndingServerBeginsNothing) {
  Serve({});
  const Session session = Create("one");
  registry_->BeginEnding();
  EXPECT_TRUE(registry_->AwaitEnds(MonotonicNow() + kPatience));
  EXPECT_EQ(session->Snapshot().state, CaptureState::kCancelled);
  EXPECT_EQ(session->Snapshot().end_message, "cancelled: ptrace-profd was shut down");
  ASSERT_TRUE(session->Snapshot().error.has_value()) << "nobody asked for that";
  EXPECT_EQ(session->Snapshot().error->reason, Reason::kDaemonEnding);
  EXPECT_EQ(session->Snapshot().error->thing, "capture one");
  const CaptureRegistry::Creation creation = CreationBy(kAnn);
  const auto refused = Ask(creation);
  EXPECT_EQ(refused.error().reason, Reason::kDaemonEnding);
  EXPECT_FALSE(refused.error().remedy.empty());
  EXPECT_EQ(registry_->StartHidden(creation.request, kAnn, starter_.access()).error().reason, Reason::kDaemonEnding);
  EXPECT_EQ(registry_->Check(creation, starter_.access()).error().reason, Reason::kDaemonEnding);
}

TEST_F(KeptCaptures, ADeafCollectorIsKilledWhenTimeRunsOut) {
  Serve({});
  starter_.deaf = true;
  const Session session = Create("one");
  FakeCollectorState& collector = LastCollector();
  collector.status = SIGKILL;
  registry_->BeginEnding();
  EXPECT_FALSE(registry_->AwaitEnds(MonotonicNow()));
  EXPECT_EQ(registry_->CountGoingOn(), 1U);
  registry_->HastenEnding();
  EXPECT_TRUE(registry_->AwaitEnds(MonotonicNow() + kPatience));
  EXPECT_TRUE(collector.killed);
  EXPECT_EQ(registry_->CountGoingOn(), 0U);
}

}  // namespace
}  // namespace ptrace_prof

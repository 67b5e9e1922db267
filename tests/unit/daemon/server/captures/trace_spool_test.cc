// The spool: whole packets only, from any boundary, whatever bytes it gets and whenever the disk is full.

#include "daemon/server/captures/trace_spool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/unit/daemon/server/captures/fake_collector.h"
#include "tests/unit/in_child.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {
namespace {

Result<void> Append(TraceSpool& spool, std::string_view text) { return spool.Append(std::as_bytes(std::span(text))); }

class Spooling : public testing::Test {
 protected:
  void SetUp() override {
    auto made = TraceSpool::Create(folder_.path());
    ASSERT_TRUE(made.has_value());
    spool_ = std::move(made).value();
  }
  ScratchDirectory folder_;
  std::unique_ptr<TraceSpool> spool_;
  const std::string trace_ = SmallTrace(true, 12);
  const std::vector<uint64_t> ends_ = PacketEnds(trace_);
};

TEST_F(Spooling, OnlyWholePacketsCount) {
  for (size_t i = 0; i < trace_.size(); ++i) {
    ASSERT_TRUE(Append(*spool_, trace_.substr(i, 1)).has_value());
    const auto next = std::upper_bound(ends_.begin(), ends_.end(), i + 1);
    EXPECT_EQ(spool_->size(), next == ends_.begin() ? 0 : *std::prev(next));
  }
  EXPECT_EQ(spool_->size(), trace_.size());
}

TEST_F(Spooling, ReadsFromEveryBoundaryAndNowhereElse) {
  ASSERT_TRUE(Append(*spool_, trace_).has_value());
  for (uint64_t offset = 0; offset <= trace_.size() + 2; ++offset) {
    const bool is_boundary = offset == 0 || std::find(ends_.begin(), ends_.end(), offset) != ends_.end();
    const auto checked = spool_->CheckOffset(offset);
    ASSERT_EQ(checked.has_value(), is_boundary) << offset;
    if (!is_boundary) {
      EXPECT_EQ(checked.error().code, Code::kOutOfRange);
      EXPECT_NE(checked.error().message.find(std::to_string(offset)), std::string::npos);
      EXPECT_FALSE(checked.error().remedy.empty());
    }
  }
  EXPECT_EQ(spool_->CheckOffset(UINT64_MAX).error().code, Code::kOutOfRange);
}

TEST_F(Spooling, PiecesOfAnySizeAreWholePackets) {
  ASSERT_TRUE(Append(*spool_, trace_).has_value());
  for (const size_t most : {size_t{1}, size_t{20}, size_t{100}, size_t{1000}, trace_.size() * 2}) {
    std::string read;
    while (read.size() < trace_.size()) {
      const auto piece = spool_->ReadPackets(read.size(), most);
      ASSERT_TRUE(piece.has_value());
      ASSERT_FALSE(piece.value().empty());
      read += piece.value();
      ASSERT_TRUE(std::find(ends_.begin(), ends_.end(), read.size()) != ends_.end());
    }
    EXPECT_EQ(read, trace_);
    EXPECT_TRUE(spool_->ReadPackets(read.size(), most).value().empty());
  }
}

TEST_F(Spooling, FindsItsWayInALargeTrace) {
  std::string large;
  while (large.size() < (5U << 20)) {
    large += SmallTrace(false, 2000);
  }
  for (size_t at = 0; at < large.size(); at += 100'000) {
    ASSERT_TRUE(Append(*spool_, std::string_view(large).substr(at, 100'000)).has_value());
  }
  const std::vector<uint64_t> ends = PacketEnds(large);
  for (size_t i = 0; i < ends.size(); i += 997) {
    EXPECT_TRUE(spool_->CheckOffset(ends[i]).has_value());
    EXPECT_EQ(spool_->CheckOffset(ends[i] - 1).error().code, Code::kOutOfRange);
  }
}

TEST_F(Spooling, LooksThroughALongTraceOfAnEarlierDaemonInPieces) {
  const std::string piece = SmallTrace(false, 2000);
  std::string whole;
  while (whole.size() < 3 * TraceSpool::kCheckAtOnce) {
    whole += piece;
  }
  auto made = TraceSpool::CreateNamed(folder_.path(), "long").value();
  ASSERT_TRUE(Append(*made, whole).has_value());
  const auto spool = TraceSpool::OpenNamed(folder_.path(), "long", whole.size()).value();
  const uint64_t boundary = whole.size() - piece.size();
  size_t turns = 1;
  while (!spool->CheckOffset(boundary).value()) {
    ++turns;
  }
  EXPECT_GE(turns, 3U);
  EXPECT_TRUE(spool->CheckOffset(boundary).value()) << "at once the second time";
  EXPECT_EQ(spool->CheckOffset(boundary - 1).error().code, Code::kOutOfRange);
}

TEST_F(Spooling, WhatCameBeforeTheDamageIsKept) {
  const auto damaged = Append(*spool_, trace_ + "\xff\xff\xff" + trace_);
  ASSERT_TRUE(damaged.has_error());
  EXPECT_EQ(damaged.error().code, Code::kDataLoss);
  EXPECT_EQ(spool_->size(), trace_.size());
  EXPECT_EQ(spool_->ReadPackets(0, 1 << 20).value(), trace_);
}

TEST_F(Spooling, APacketOfAbsurdLengthIsDamage) {
  ASSERT_TRUE(Append(*spool_, trace_).has_value());
  EXPECT_EQ(Append(*spool_, "\x0a\xff\xff\xff\xff\x7f").error().code, Code::kDataLoss);
  EXPECT_EQ(spool_->size(), trace_.size());
}

TEST_F(Spooling, OnAFullDiskTheWholePacketsStay) {
  const auto try_with_room_for = [&](uint64_t room) {
    return InChild([&] {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{room, room};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      const auto stored = Append(*spool_, trace_);
      const auto next = std::upper_bound(ends_.begin(), ends_.end(), room);
      const uint64_t whole = next == ends_.begin() ? 0 : *std::prev(next);
      if (stored.has_value() || stored.error().message.empty() || stored.error().remedy.empty()) {
        return 1;
      }
      if (spool_->size() != whole) {
        return 2;
      }
      return spool_->ReadPackets(0, 1 << 20).value() == trace_.substr(0, whole) ? 0 : 3;
    });
  };
  for (uint64_t room = 0; room < trace_.size(); room += 37) {
    EXPECT_EQ(try_with_room_for(room), 0) << room;
  }
}

TEST_F(Spooling, WhatIsForgottenTakesUpNoSpace) {
  const std::string trace = SmallTrace(true, 20'000);
  ASSERT_GT(trace.size(), size_t{256} << 10);
  ASSERT_TRUE(Append(*spool_, trace).has_value());
  EXPECT_EQ(spool_->stored(), trace.size());
  const auto first = spool_->ReadPackets(0, trace.size() / 2);
  ASSERT_TRUE(first.has_value());
  spool_->ForgetBefore(first.value().size());
  if (spool_->stored() == trace.size()) {
    GTEST_SKIP() << "the file system of " << folder_.path() << " cannot give space back";
  }
  EXPECT_LT(spool_->stored(), trace.size() - first.value().size() + (size_t{64} << 10));
  EXPECT_EQ(spool_->size(), trace.size());
  EXPECT_EQ(spool_->ReadPackets(first.value().size(), trace.size()).value(), trace.substr(first.value().size()));
  spool_->ForgetBefore(UINT64_MAX);
  EXPECT_LT(spool_->stored(), uint64_t{64} << 10);
}

TEST(TraceSpool, DoesNotWaitAtAPipe) {
  const ScratchDirectory folder;
  ASSERT_EQ(::mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  const auto opened = TraceSpool::OpenNamed(folder.path(), "pipe", std::nullopt);
  ASSERT_TRUE(opened.has_error());
  EXPECT_EQ(opened.error().message, "pipe in " + folder.path() + " is not a regular file");
}

TEST(TraceSpool, SaysWhichFolderIsMissing) {
  const auto made = TraceSpool::Create("/no/such/folder");
  ASSERT_TRUE(made.has_error());
  EXPECT_NE(made.error().message.find("/no/such/folder"), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof

#include "attach/inject/channel.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "attach/proc/process_memory.h"
#include "tests/unit/attach/inject/channel_memory.h"

namespace ptrace_prof {
namespace {

constexpr ChannelShape kChannelShape{2, PP_MIN_RING_RECORDS, 4711};

class ChannelTest : public testing::Test {
 protected:
  Channel Open() {
    memory_.Seal();
    Result<Channel> channel = Channel::Take(memory_.file(), kChannelShape);
    EXPECT_TRUE(channel.has_value()) << channel.error().message;
    return std::move(channel).value();
  }
  Code Refusal(const ChannelShape& shape = kChannelShape) const {
    const Result<Channel> channel = Channel::Take(memory_.file(), shape);
    return channel.has_value() ? Code::kOk : channel.error().code;
  }
  Reason Why(const ChannelShape& shape = kChannelShape) const {
    const Result<Channel> channel = Channel::Take(memory_.file(), shape);
    return channel.has_value() ? Reason::kUnspecified : channel.error().reason;
  }

  ChannelMemory memory_{kChannelShape};
};

TEST_F(ChannelTest, IsTakenOnceItIsSealedAndReady) {
  EXPECT_EQ(Refusal(), Code::kUnavailable) << "it could still shrink";
  memory_.Seal();
  memory_.head().state = PP_STATE_NONE;
  EXPECT_EQ(Refusal(), Code::kUnavailable) << "it is not ready";
  memory_.head().state = PP_STATE_READY;
  EXPECT_EQ(Refusal(), Code::kOk);
  EXPECT_NE(::ftruncate(memory_.file().get(), 0), 0);
}

TEST_F(ChannelTest, OfAnotherShapeIsRefused) {
  memory_.Seal();
  EXPECT_EQ(Why({3, kChannelShape.records, kChannelShape.nonce}), Reason::kTracerLost);
  EXPECT_EQ(Why({2, 2 * kChannelShape.records, kChannelShape.nonce}), Reason::kTracerLost);
  EXPECT_EQ(Why({2, kChannelShape.records, 4712}), Reason::kTracerLost);
  EXPECT_EQ(Refusal({0, kChannelShape.records, kChannelShape.nonce}), Code::kInvalidArgument);
  EXPECT_EQ(Refusal({2, 300, kChannelShape.nonce}), Code::kInvalidArgument);
  EXPECT_EQ(Refusal({UINT32_MAX, kChannelShape.records, kChannelShape.nonce}), Code::kInvalidArgument);
  for (const auto spoil : {+[](pp_channel& head) { head.magic = 0; }, +[](pp_channel& head) { head.abi_version = 99; },
                           +[](pp_channel& head) { head.ring_count = 3; }, +[](pp_channel& head) { head.size = 1; }}) {
    const pp_channel good = memory_.head();
    spoil(memory_.head());
    EXPECT_EQ(Why(), Reason::kTracerLost);
    memory_.head() = good;
  }
}

TEST_F(ChannelTest, OnlyAMemfdWillDo) {
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const Result<Channel> channel = Channel::Take(file, kChannelShape);
  ASSERT_TRUE(channel.has_error());
  EXPECT_EQ(channel.error().reason, Reason::kTracerLost);
}

TEST_F(ChannelTest, ReportsWhyTheStubFailed) {
  memory_.Seal();
  memory_.head().state = PP_STATE_FAILED;
  memory_.head().error = PP_ERROR_SYSTEM_CALL;
  memory_.head().error_step = PP_STEP_MAP_PRIVATE;
  memory_.head().error_number = ENOMEM;
  const Result<Channel> channel = Channel::Take(memory_.file(), kChannelShape);
  ASSERT_TRUE(channel.has_error());
  EXPECT_EQ(channel.error().message,
            "a system call failed in the target, mapping private memory (mmap): Cannot allocate memory");
  memory_.head().error_step = UINT32_MAX;
  EXPECT_EQ(StubFailure(UINT32_MAX, UINT32_MAX, 0).reason, Reason::kTracerLost) << "written over";
}

TEST_F(ChannelTest, GivesRecordsInTheirOrderRoundAndRound) {
  Channel channel = Open();
  RingReader& ring = channel.rings()[1];
  std::array<pp_record, 100> got{};
  uint64_t next = 0;
  for (uint64_t published = 0; published < 10 * kChannelShape.records;) {
    for (int i = 0; i < 150; ++i, ++published) {
      memory_.Publish(1, {published, ~published});
    }
    for (size_t count = 0; (count = ring.Drain(got)) > 0;) {
      for (size_t i = 0; i < count; ++i, ++next) {
        ASSERT_EQ(got[i].when_tag, next);
        ASSERT_EQ(got[i].value, ~next);
      }
    }
    ASSERT_EQ(next, published);
    ASSERT_EQ(memory_.ring(1).tail, published);
  }
  EXPECT_EQ(ring.skipped(), 0U);
  EXPECT_EQ(channel.rings()[0].Drain(got), 0U);
}

TEST_F(ChannelTest, SurvivesEndsThatMakeNoSense) {
  Channel channel = Open();
  RingReader& ring = channel.rings()[0];
  std::vector<pp_record> got(2 * kChannelShape.records);
  uint64_t skipped = 0;
  for (const uint64_t head : {uint64_t{kChannelShape.records} + 1, UINT64_MAX, uint64_t{1000}, uint64_t{1} << 63}) {
    memory_.ring(0).head = head;
    memory_.ring(0).tail = head ^ 0x5555;  // the target may write that too, without effect
    EXPECT_LE(ring.Waiting(), kChannelShape.records);
    EXPECT_EQ(ring.Drain(got), 0U);
    EXPECT_EQ(ring.skipped(), ++skipped);
  }
  memory_.Publish(0, {1, 2});
  EXPECT_EQ(ring.Drain(got), 1U) << "goes on from where the target says it is";
}

TEST_F(ChannelTest, SettlesAtTheArmingWhatIsPending) {
  Channel channel = Open();
  pp_private page{PP_PRIVATE_MAGIC, 0};
  memory_.head().private_page = reinterpret_cast<uint64_t>(&page);
  Channel armed = Open();
  memory_.ring(0).last_unarmed = PP_UNARMED(0x1000, PP_TAG_START) | PP_UNARMED_PENDING;
  memory_.ring(1).last_unarmed = PP_UNARMED(0x2000, PP_TAG_RETURN);
  ProcessMemory memory{Pid(::getpid())};
  RemoteWriter writer{Pid(::getpid())};
  ASSERT_TRUE(armed.Arm(memory, writer).has_value());
  EXPECT_EQ(page.armed, 1U);
  EXPECT_EQ(armed.rings()[0].Facts().last_unarmed, 0U);
  EXPECT_EQ(PP_UNARMED_FRAME(armed.rings()[1].Facts().last_unarmed), 0x2000U);
  ASSERT_TRUE(armed.Disarm(memory, writer).has_value());
  EXPECT_EQ(page.armed, 0U);
  page.magic = 0;
  const Result<void> again = armed.Arm(memory, writer);
  ASSERT_TRUE(again.has_error());
  EXPECT_EQ(again.error().reason, Reason::kTracerLost);
  EXPECT_EQ(page.armed, 0U);
}

TEST(ChannelMutes, AreFoundByWhoLooksForThem) {
  constexpr ChannelShape kWithTable{1, PP_MIN_RING_RECORDS, 4711, true};
  const ChannelMemory memory(kWithTable);
  memory.Seal();
  Channel channel = Channel::Take(memory.file(), kWithTable).value();
  const auto* table = reinterpret_cast<const pp_mute*>(memory.bytes() + PP_MUTES_OFFSET(1, PP_MIN_RING_RECORDS));
  const auto find = [&](uint64_t code) {
    uint64_t place = PP_MUTE_HASH(code);
    while (table[place % PP_MUTE_ENTRIES].code != code) {
      ++place;
    }
    return table[place % PP_MUTE_ENTRIES].check;
  };
  uint64_t muted = 0;
  while (channel.Mute(RemoteAddr(0x7f0000001000 + 0x80 * muted), {muted, 2, -3}, MutedEvents::kAll)) {
    ++muted;
  }
  EXPECT_GE(muted, PP_MAX_MUTES / 2) << "too many for the few places that are looked at";
  EXPECT_LE(muted, PP_MAX_MUTES);
  for (uint64_t i = 0; i < muted; ++i) {
    EXPECT_EQ(find(0x7f0000001000 + 0x80 * i), PP_MUTE_CHECK(i, 2, int64_t{-3}));
  }
  // The same address again: for other code, or for other events of the code.
  EXPECT_TRUE(channel.Mute(RemoteAddr(0x7f0000001000), {7, 8, 9}, MutedEvents::kBegins));
  EXPECT_EQ(find(0x7f0000001000), PP_MUTE_CHECK(7, 8, int64_t{9}) | PP_MUTE_BEGINS);
  EXPECT_FALSE(channel.Mute(RemoteAddr(), {}, MutedEvents::kAll));
}

TEST_F(ChannelTest, WithoutATableNothingIsMuted) {
  Channel channel = Open();
  EXPECT_FALSE(channel.Mute(RemoteAddr(0x1000), {1, 2, 3}, MutedEvents::kAll));
  EXPECT_EQ(channel.event_ticks().frame, 0);
  memory_.head().frame_cost = {128, 3840};
  EXPECT_EQ(channel.event_ticks().frame, 30);
}

TEST_F(ChannelTest, ReportsTheStubWhatItShallDo) {
  Channel channel = Open();
  channel.RenewLease(99);
  channel.WantSelf(7, RemoteAddr(5));
  channel.WantSelf(8, RemoteAddr(6));
  channel.AskToLeave();
  EXPECT_EQ(memory_.head().lease, 99U);
  EXPECT_EQ(memory_.head().leave, 1U);
  EXPECT_EQ(memory_.head().self_code[7], 5U);
}

}  // namespace
}  // namespace ptrace_prof
